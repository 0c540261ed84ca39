// SPDX-License-Identifier: Apache-2.0
// The second stage of few rows: one block merges what the parts of a row have left.
#pragma once

#include "kernels/building_blocks/onepass_topk/stream.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// The candidates of all parts of a row.
struct PartsSource {
  static constexpr bool kInOrder = false;
  const Candidate* candidates;
  int places;

  /// Calls f with each candidate of the calling thread.
  template <class F>
  __device__ __forceinline__ void each(F f) const {
    for (int i = static_cast<int>(threadIdx.x); i < places; i += kSelectThreads)
      if (const Candidate c = candidates[i]) f(c);
  }
  template <int kRoom>
  __device__ __forceinline__ bool collect(float floor, Candidate least,
                                          Buffer<kRoom, kSelectThreads>& buffer) const {
    bool found = true;
    each([&](Candidate c) {
      if (c >= least && ranked_logit(rank_of(c)) >= floor) found &= buffer.push(c);
    });
    return found;
  }
  __device__ __forceinline__ bool earlier(Candidate) const { return false; }
  __device__ __forceinline__ bool bounded() const { return true; }
};

template <class Form, class T, int kRoom>
__global__ void __launch_bounds__(kSelectThreads)
    topk_merge(Pieces<T> pieces, Selected<T> to, float* m, float* d, Workplace workplace) {
  using E = typename Form::Exp;
  ASSAY_SHARED(Alone::Shared, team_shared, 1);
  using Buffer = onepass::Buffer<kRoom, kSelectThreads>;
  ASSAY_SHARED(Buffer, buffers, 1);
  Buffer& buffer = buffers[0];
  const Alone team({}, team_shared[0]);
  const int thread = static_cast<int>(threadIdx.x);
  for (std::int64_t row = blockIdx.x; row < pieces.logits.count; row += gridDim.x) {
    if (thread == 0) buffer.count = 0;
    __syncthreads();  // the buffer is empty; what the row before left has been read
    const Normalizer* const parts = workplace.normalizers + row * pieces.parts;
    const PartsSource source{workplace.candidates + row * pieces.parts * workplace.room,
                             pieces.parts * workplace.room};
    const Normalizer n = team.template merge<E>(thread < pieces.parts ? folded(parts[thread]) : identity());
    if (m && thread == 0) store_normalizer(m, d, row, n);
    if (!to.values.base) continue;
    float2 maxima = {negative_infinity(), negative_infinity()};
    source.each([&](Candidate c) {
      const float x = ranked_logit(rank_of(c));
      maxima = {fmaxf(maxima.x, x), fmaxf(maxima.x < x ? maxima.x : x, maxima.y)};
    });
    const float floor = groups_bound<T>(maxima, to.k, buffer.bound);
    if (__syncthreads_or(!source.collect(floor, 0, buffer)))
      collect_again<T>(source, maxima, floor, true, to.k, buffer);
    put_best<Form>(buffer, to, pieces.logits.row(row), row, pieces.V, n);
    __syncthreads();  // the candidates have been read
  }
}

}  // namespace assay::ASSAY_BACKEND::onepass

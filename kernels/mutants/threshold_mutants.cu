// SPDX-License-Identifier: Apache-2.0
// Faults of a selection by a threshold, as onepass_topk makes it: the k-th largest of the threads' maxima is
// the first threshold, what reaches it goes into a buffer of limited room, and a full buffer is thinned out.
#include "kernels/building_blocks/onepass_topk/buffer.cuh"
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using namespace onepass;

constexpr int kRoom = 512, kEach = 4;  // candidates; elements of a thread in a tile

enum class Fault {
  none,
  full_buffer_drops,
  first_threshold_is_exclusive,
  threshold_of_fewer,
  thinned_without_columns,
  later_ties_displace,
  padding_counts,
};

/// The larger column first where `wrong`.
__device__ Candidate candidate_of(float x, std::int64_t column, bool wrong) {
  return candidate(x, static_cast<unsigned>(wrong ? 0x7fffffff - column : column));
}

template <class T>
__global__ void select_by_threshold(Fault f, Rows<const T> logits, Rows<T> values, void* indices, float* m,
                                    float* d, int k, bool wide, std::int64_t V) {
  using Buffer = onepass::Buffer<kRoom, kSelectThreads>;
  ASSAY_SHARED(Buffer, buffers, 1);
  Buffer& buffer = buffers[0];
  const int thread = static_cast<int>(threadIdx.x);
  const bool swapped = f == Fault::later_ties_displace;
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* const x = logits.row(row);
    Normalizer n = identity();
    for (std::int64_t i = thread; i < V; i += kSelectThreads) n = combine(n, leaf(to_float(x[i])));
    n = block_reduce<Combine<AccurateExp>, kSelectThreads>(n);
    if (thread == 0) buffer.count = 0;
    float threshold = negative_infinity();
    Candidate least = 0;
    for (std::int64_t tile = 0; tile < V; tile += kEach * kSelectThreads) {
      float2 maxima = {negative_infinity(), negative_infinity()};
      float own[kEach];
      for (int j = 0; j < kEach; ++j) {
        const std::int64_t i = tile + j * kSelectThreads + thread;
        own[j] = i < V ? to_float(x[i]) : f == Fault::padding_counts ? 0.0f : negative_infinity();
        (j % 2 ? maxima.y : maxima.x) = fmaxf(j % 2 ? maxima.y : maxima.x, own[j]);
      }
      __syncthreads();  // the buffer is ready
      if (tile == 0)
        threshold = groups_bound<T>(maxima, f == Fault::threshold_of_fewer ? (k + 1) / 2 : k, buffer.bound);
      for (bool again = true; again;) {
        bool room = true;
        for (int j = 0; j < kEach; ++j) {
          const std::int64_t i = tile + j * kSelectThreads + thread;
          const bool reaches =
              f == Fault::first_threshold_is_exclusive ? own[j] > threshold : own[j] >= threshold;
          const Candidate c = candidate_of(own[j], i, swapped);
          if (i < V && reaches && c >= least) room &= buffer.push(c);
        }
        again = __syncthreads_or(!room) && f != Fault::full_buffer_drops;
        if (!again) continue;
        buffer.sort();
        least = buffer.at[k - 1];
        if (f == Fault::thinned_without_columns) least |= 0xffffffffu;
        __syncthreads();  // all threads have read it
        buffer.filter([=](Candidate c) {
          const std::int64_t column = swapped ? 0x7fffffff - column_of(c) : column_of(c);
          return c >= least && column < tile;
        });
      }
    }
    if (values.base)
      in_order(buffer, k, [&](int slot, Candidate c) {
        const std::int64_t column = swapped ? 0x7fffffff - column_of(c) : column_of(c);
        store_index(indices, row * values.pitch + slot, column, wide);
        values.row(row)[slot] = from_float<T>(expf(ranked_logit(rank_of(c)) - n.m) / n.d);
      });
    if (values.base && thread == 0) {
      int slot = buffer.size();
      for (std::int64_t i = 0; i < V && slot < k; ++i) {  // NaN ranks after the numbers
        if (to_float(x[i]) == to_float(x[i])) continue;
        store_index(indices, row * values.pitch + slot, i, wide);
        values.row(row)[slot++] = x[i];
      }
      for (; slot < k; ++slot) {
        store_index(indices, row * values.pitch + slot, -1, wide);
        values.row(row)[slot] = from_float<T>(0.0f);
      }
    }
    if (m && thread == 0) store_normalizer(m, d, row, n);
    __syncthreads();  // the candidates have been read
  }
}

template <class T = f32>
bool plant(const char* id, const char* fault, Fault f, const Expect& expect) {
  constexpr Claim claim{
      .algorithm = Algorithm::online,
      .height = [](std::int64_t V) { return block_height(V, kSelectThreads); },
      .select = Select::logits,
      .ties = Ties::smaller_index,
      .loads = 2,
  };
  return plant_kernel<T>(
      id, fault, __FILE__, Op::softmax_topk, claim,
      [f](const Problem& p, const Buffers& b, const Stream& s) {
        launch(select_by_threshold<T>, grid_for(p.rows, s), kSelectThreads, 0, s, f, logits_of<T>(p, b),
               values_of<T>(p, b), b.indices, b.m, b.d, p.k, p.index_bytes() == 8, p.V);
      },
      expect, kFew);
}

const bool planted[] = {
    plant("R42", "threshold_none", Fault::none, {"ties", 4099, "", 64}),
    plant<f16>("R42", "threshold_none_f16", Fault::none, {"ramp_1ulp", 4099, ""}),
    plant("X65", "topk_full_buffer_drops", Fault::full_buffer_drops, {"ramp_1ulp", 4099, "order", 64}),
    plant("X66", "topk_first_threshold_is_exclusive", Fault::first_threshold_is_exclusive,
          {"constant", 1025, "indices"}),
    plant("X67", "topk_threshold_of_fewer", Fault::threshold_of_fewer, {"normal_1", 1025, "indices", 64}),
    plant("X68", "topk_thinned_without_columns", Fault::thinned_without_columns,
          {"constant", 4099, "indices"}),
    plant("X69", "topk_later_ties_displace", Fault::later_ties_displace, {"constant", 1025, "order"}),
    plant("X70", "topk_padding_counts", Fault::padding_counts, {"all_negative", 129, "indices"}),
};

}  // namespace
}  // namespace assay::ASSAY_BACKEND

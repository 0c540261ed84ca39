// The k best of the candidates, in order, and what is written of them.
#pragma once

#include "kernels/building_blocks/onepass_topk/buffer.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// Where a launch writes.
template <class T>
struct Selected {
  Rows<T> values;
  void* indices;
  bool wide;
  int k;
};

/// Writes slot `slot` of a row.
template <class Form, class T>
__device__ __forceinline__ void put(const Selected<T>& to, std::int64_t row, int slot, float x,
                                    long long column, const Form& form) {
  const std::int64_t first = row * to.values.pitch;
  store_index(to.indices, first + slot, column, to.wide);
  Chunk<1> c = single(x);
  form.template outputs<T>(c);
  to.values.base[first + slot] = from_float<T>(column < 0 ? 0.0f : c.x[0]);
}

/// Up to this many candidates each is compared with all others.
inline constexpr int kComparedWithAll = 64;
/// More candidates than this are thinned out before they are put in order.
inline constexpr int kOrderedAtOnce = 2 * kSelectThreads;

/// Drops candidates below the last bound that groups_bound() has found, which k of them reach; if that is not
/// enough, most that are not among the k best; and if many are equal, sorts them. All threads must call it.
template <class T, int kRoom>
ASSAY_RARE void thin_out(Buffer<kRoom>& buffer, int k) {
  const unsigned least = unsigned_rank(buffer.bound.bound);
  buffer.filter([=](Candidate c) { return rank_of(c) >= least; });
  if (buffer.size() <= kOrderedAtOnce) return;
  buffer.template thin<T>(k);
  if (buffer.size() > kOrderedAtOnce) buffer.sort();
}

/// Calls use(slot, candidate) for the k best of at least k candidates, or for all of them, each by one
/// thread. All threads must call it after a barrier.
template <class T, int kRoom, class F>
__device__ __forceinline__ void in_order(Buffer<kRoom>& buffer, int k, F use) {
  const int thread = static_cast<int>(threadIdx.x);
  if (buffer.size() > kOrderedAtOnce) thin_out<T>(buffer, k);
  const int count = buffer.size();
  if (count <= kComparedWithAll) {
    if (thread >= count) return;
    const Candidate own = buffer.at[thread];
    int slot = 0;
    for (int j = 0; j < count; ++j) slot += buffer.at[j] > own;
    if (slot < k) use(slot, own);
  } else if (count <= kOrderedAtOnce) {
    buffer.sort_lists();
    for (int i = thread; i < count; i += kSelectThreads) {
      const Candidate own = buffer.at[i];
      const int slot = buffer.before(own);
      if (slot < k) use(slot, own);
    }
  } else {  // they have been sorted
    for (int i = thread; i < k; i += kSelectThreads) use(i, buffer.at[i]);
  }
}

/// Writes a row's k best. All threads must call it after a barrier. If there are fewer than k candidates,
/// they are all numbers of the row: NaN ranks after them, by column.
template <class Form, class T, int kRoom>
__device__ __forceinline__ void put_best(Buffer<kRoom>& buffer, const Selected<T>& to, const T* x,
                                         std::int64_t row, std::int64_t V, Normalizer n) {
  const Form form(n);
  in_order<T>(buffer, to.k, [&](int slot, Candidate c) {
    put(to, row, slot, ranked_logit(rank_of(c)), column_of(c), form);
  });
  int slot = buffer.size();
  if (slot >= to.k || threadIdx.x != 0) return;
  for (std::int64_t i = 0; i < V && slot < to.k; ++i) {
    const float xi = to_float(x[i]);
    if (xi != xi) put(to, row, slot++, xi, i, form);
  }
  for (; slot < to.k; ++slot) put(to, row, slot, 0.0f, -1, form);
}

}  // namespace assay::ASSAY_BACKEND::onepass

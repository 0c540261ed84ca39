// SPDX-License-Identifier: Apache-2.0
// Cooperative groups for kernels on the host executor: the block, tiles of at most a warp, and reductions
// over tiles. A grid cannot synchronize here, because its blocks run one after the other.
#pragma once

#include "kernels/host/cuda_core.hpp"

// The author's file includes this, and is to see no macro of this project's afterwards.
#pragma push_macro("ASSAY_BACKEND")
#ifndef ASSAY_BACKEND
#define ASSAY_BACKEND host
#endif

namespace assay::ASSAY_BACKEND::cooperative_groups {

using executor::Collective;
using executor::Site;

class thread_block {
 public:
  static void sync(const Site& site = Site::current()) {
    executor::block_barrier(executor::Barrier::plain, 0, site);
  }
  static unsigned thread_rank() { return words_detail::block_thread(); }
  static unsigned size() { return static_cast<unsigned>(blockDim.count()); }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

class grid_group {
 public:
  static unsigned long long block_rank() {
    return blockIdx.x + static_cast<unsigned long long>(gridDim.x) *
                            (blockIdx.y + static_cast<unsigned long long>(gridDim.y) * blockIdx.z);
  }
  static unsigned long long num_blocks() { return gridDim.count(); }
  static unsigned long long size() { return gridDim.count() * blockDim.count(); }
  static unsigned long long num_threads() { return size(); }
  static unsigned long long thread_rank() {
    return block_rank() * blockDim.count() + words_detail::block_thread();
  }
  static dim3 block_index() { return blockIdx; }
  static dim3 dim_blocks() { return gridDim; }
  template <class T = void>
  static void sync() {
    static_assert(sizeof(T*) == 0, "unsupported: executor: a barrier of the whole grid");
  }
};
inline grid_group this_grid() { return {}; }

/// A tile: N consecutive threads of a block. N is a power of two, at most a warp.
template <unsigned N, class Parent = void>
class thread_block_tile {
  static_assert(N > 0 && (N & (N - 1)) == 0, "a tile has a power of two threads");
  static_assert(N <= 32, "unsupported: executor: tiles of more than 32 threads");

 public:
  template <class P>
  explicit thread_block_tile(const P& parent)
      : meta_rank_(parent.thread_rank() / N), meta_size_((parent.size() + N - 1) / N) {}
  /// Forgets which group the tile is a part of.
  template <class P>
  thread_block_tile(const thread_block_tile<N, P>& tile)
      : meta_rank_(tile.meta_group_rank()), meta_size_(tile.meta_group_size()) {}

  static unsigned thread_rank() { return words_detail::block_thread() % N; }
  static constexpr unsigned size() { return N; }
  static constexpr unsigned num_threads() { return N; }
  unsigned meta_group_rank() const { return meta_rank_; }
  unsigned meta_group_size() const { return meta_size_; }

  void sync(const Site& site = Site::current()) const {
    executor::warp_collective(Collective::sync, mask(), 0, 0, 32, site);
  }
  template <class T>
  T shfl(T v, int source, const Site& site = Site::current()) const {
    return words_detail::shuffle_any(Collective::shfl, mask(), v, source, N, site);
  }
  template <class T>
  T shfl_up(T v, unsigned delta, const Site& site = Site::current()) const {
    return words_detail::shuffle_any(Collective::shfl_up, mask(), v, static_cast<int>(delta), N, site);
  }
  template <class T>
  T shfl_down(T v, unsigned delta, const Site& site = Site::current()) const {
    return words_detail::shuffle_any(Collective::shfl_down, mask(), v, static_cast<int>(delta), N, site);
  }
  template <class T>
  T shfl_xor(T v, unsigned lanes, const Site& site = Site::current()) const {
    return words_detail::shuffle_any(Collective::shfl_xor, mask(), v, static_cast<int>(lanes), N, site);
  }
  int any(int p, const Site& site = Site::current()) const { return __any_sync(mask(), p, site); }
  int all(int p, const Site& site = Site::current()) const { return __all_sync(mask(), p, site); }
  /// Bit i belongs to thread i of the tile.
  unsigned ballot(int p, const Site& site = Site::current()) const {
    return __ballot_sync(mask(), p, site) >> first();
  }
  template <class T>
  unsigned match_any(T v, const Site& site = Site::current()) const {
    return __match_any_sync(mask(), v, site) >> first();
  }
  template <class T>
  unsigned match_all(T v, int& predicate, const Site& site = Site::current()) const {
    return __match_all_sync(mask(), v, &predicate, site) >> first();
  }

 private:
  static unsigned first() { return words_detail::block_thread() % 32 / N * N; }
  static unsigned mask() { return (N == 32 ? ~0u : (1u << N % 32) - 1) << first(); }
  unsigned meta_rank_, meta_size_;
};
template <unsigned N, class Parent>
thread_block_tile<N, Parent> tiled_partition(const Parent& parent) {
  return thread_block_tile<N, Parent>(parent);
}

/// A group whose kind is known only at run time: the block, or a tile of it.
class thread_group {
 public:
  thread_group(thread_block) : size_(thread_block::size()), block_(true) {}
  template <unsigned N, class P>
  thread_group(const thread_block_tile<N, P>&) : size_(N), block_(false) {}
  thread_group(const thread_group& parent, unsigned n) : size_(n), block_(false) { (void)parent; }

  unsigned size() const { return size_; }
  unsigned num_threads() const { return size_; }
  unsigned thread_rank() const { return words_detail::block_thread() % size_; }
  void sync(const Site& site = Site::current()) const {
    if (block_) return thread_block::sync(site);
    const unsigned first = words_detail::block_thread() % 32 / size_ * size_;
    executor::warp_collective(Collective::sync, (size_ == 32 ? ~0u : (1u << size_) - 1) << first, 0, 0, 32,
                              site);
  }

 private:
  unsigned size_;
  bool block_;
};
inline thread_group tiled_partition(const thread_group& parent, unsigned n) {
  if (n < 1 || n > 32 || (n & (n - 1)))
    throw executor::Fault::bad_launch("a tile of " + std::to_string(n) +
                                      " threads is no power of two up to 32");
  return {parent, n};
}

template <class Group>
void sync(const Group& g, const Site& site = Site::current()) {
  g.sync(site);
}
template <class Group>
auto thread_rank(const Group& g) {
  return g.thread_rank();
}
template <class Group>
auto group_size(const Group& g) {
  return g.size();
}

// ---- reductions ----

#define ASSAY_GROUP_OPERATOR(name, result)          \
  template <class T = void>                         \
  struct name {                                     \
    T operator()(T a, T b) const { return result; } \
  };                                                \
  template <>                                       \
  struct name<void> {                               \
    template <class T>                              \
    T operator()(T a, T b) const {                  \
      return result;                                \
    }                                               \
  };
ASSAY_GROUP_OPERATOR(plus, static_cast<T>(a + b))
ASSAY_GROUP_OPERATOR(less, b < a ? b : a)
ASSAY_GROUP_OPERATOR(greater, a < b ? b : a)
ASSAY_GROUP_OPERATOR(bit_and, static_cast<T>(a& b))
ASSAY_GROUP_OPERATOR(bit_or, static_cast<T>(a | b))
ASSAY_GROUP_OPERATOR(bit_xor, static_cast<T>(a ^ b))
#undef ASSAY_GROUP_OPERATOR

/// Every thread of the tile gets the result. CUDA promises no order of the terms; here it is a butterfly.
template <unsigned N, class P, class T, class Op>
T reduce(const thread_block_tile<N, P>& tile, T v, Op op, const Site& site = Site::current()) {
  for (unsigned lanes = N / 2; lanes > 0; lanes /= 2)
    v = static_cast<T>(op(v, tile.shfl_xor(v, lanes, site)));
  return v;
}

}  // namespace assay::ASSAY_BACKEND::cooperative_groups

#pragma pop_macro("ASSAY_BACKEND")

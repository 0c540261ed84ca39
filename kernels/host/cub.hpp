// SPDX-License-Identifier: Apache-2.0
// CUB's reductions of a warp and of a block, for kernels on the host executor. They are written from CUB's
// documentation and use the executor's shuffles and barriers. As in CUB, only the first thread gets the
// result, and a TempStorage may be used again only after a __syncthreads().
#pragma once

#include <algorithm>

#include "kernels/host/cuda_core.hpp"

// The author's file includes this, and is to see no macro of this project's afterwards.
#pragma push_macro("ASSAY_BACKEND")
#ifndef ASSAY_BACKEND
#define ASSAY_BACKEND host
#endif

#define CUB_VERSION 200200

namespace assay::ASSAY_BACKEND::cub {

using executor::Collective;
using executor::Site;

struct Sum {
  template <class A, class B>
  constexpr auto operator()(const A& a, const B& b) const {
    return a + b;
  }
};
struct Max {
  template <class T>
  constexpr T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
struct Min {
  template <class T>
  constexpr T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};

template <class K, class V>
struct KeyValuePair {
  using Key = K;
  using Value = V;
  Key key;
  Value value;
  KeyValuePair() = default;
  constexpr KeyValuePair(const Key& k, const Value& v) : key(k), value(v) {}
};
/// Returns the pair with the larger value. If the values are equal, it returns the pair with the smaller key.
struct ArgMax {
  template <class P>
  constexpr P operator()(const P& a, const P& b) const {
    return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class P>
  constexpr P operator()(const P& a, const P& b) const {
    return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};

namespace detail {
/// Reduces the first `count` lanes of each `width` consecutive lanes. The first lane gets the result. `op`
/// must be associative.
template <class T, class Op>
T reduce_lanes(T v, Op op, unsigned mask, int width, int count, const Site& site) {
  const int lane = static_cast<int>(words_detail::block_thread()) % width;
  for (int step = 1; step < width && step < count; step *= 2) {
    const bool takes = lane + step < count;
    const T other =
        words_detail::shuffle_any(Collective::shfl, mask, v, takes ? lane + step : lane, width, site);
    if (takes) v = static_cast<T>(op(v, other));
  }
  return v;
}
/// Reduces a thread's own items, in their order.
template <class T, int n, class Op>
T reduce_items(const T (&items)[n], Op op) {
  T v = items[0];
  for (int i = 1; i < n; ++i) v = static_cast<T>(op(v, items[i]));
  return v;
}
}  // namespace detail

template <class T, int kLanes = 32, int = 0>
class WarpReduce {
  static_assert(kLanes > 0 && kLanes <= 32 && (kLanes & (kLanes - 1)) == 0,
                "unsupported: executor: cub::WarpReduce of other than a power of two threads");

 public:
  struct TempStorage {
    unsigned char nothing;
  };
  explicit WarpReduce(TempStorage&) {}

  template <class Op>
  T Reduce(T v, Op op, const Site& site = Site::current()) const {
    return Reduce(v, op, kLanes, site);
  }
  template <class Op>
  T Reduce(T v, Op op, int count, const Site& site = Site::current()) const {
    const unsigned first = words_detail::block_thread() % 32 / kLanes * kLanes;
    const unsigned mask = (kLanes == 32 ? ~0u : (1u << kLanes % 32) - 1) << first;
    v = detail::reduce_lanes(v, op, mask, kLanes, std::min(count, kLanes), site);
    return words_detail::block_thread() % kLanes == 0 ? v : words_detail::undefined_result(v);
  }
  T Sum(T v, const Site& site = Site::current()) const { return Reduce(v, cub::Sum(), kLanes, site); }
  T Sum(T v, int count, const Site& site = Site::current()) const {
    return Reduce(v, cub::Sum(), count, site);
  }
};

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS
};

/// Each warp reduces its own values. Then the first thread reduces the warps' results, in their order.
template <class T, int kX, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int kY = 1, int kZ = 1,
          int = 0>
class BlockReduce {
  static constexpr int kThreads = kX * kY * kZ, kWarps = (kThreads + 31) / 32;

 public:
  struct TempStorage {
    alignas(alignof(T) < 8 ? 8 : alignof(T)) unsigned char warps[kWarps * sizeof(T)];
  };
  BlockReduce() : storage_(own_storage()) {}
  explicit BlockReduce(TempStorage& storage) : storage_(storage) {}

  template <class Op>
  T Reduce(T v, Op op, const Site& site = Site::current()) const {
    return Reduce(v, op, kThreads, site);
  }
  template <class Op, int n>
  T Reduce(T (&items)[n], Op op, const Site& site = Site::current()) const {
    return Reduce(detail::reduce_items(items, op), op, kThreads, site);
  }
  /// Reduces the values of the first `count` threads. The other threads must call it too.
  template <class Op>
  T Reduce(T v, Op op, int count, const Site& site = Site::current()) const {
    if (blockDim.count() > kThreads)
      throw executor::Fault::bad_launch("cub::BlockReduce of " + std::to_string(kThreads) +
                                        " threads in a block of " + std::to_string(blockDim.count()));
    count = std::min(count, kThreads);
    const int thread = static_cast<int>(words_detail::block_thread()), warp = thread / 32;
    const int here = std::clamp(count - 32 * warp, 0, 32);
    v = detail::reduce_lanes(v, op, ~0u, 32, here, site);
    if (thread % 32 == 0)
      std::memcpy(storage_.warps + static_cast<std::size_t>(warp) * sizeof(T), &v, sizeof(T));
    executor::block_barrier(executor::Barrier::plain, 0, site);  // every warp's result can be read
    if (thread != 0) return words_detail::undefined_result(v);
    for (int w = 1; 32 * w < count; ++w) {
      T other = v;
      std::memcpy(static_cast<void*>(&other), storage_.warps + static_cast<std::size_t>(w) * sizeof(T),
                  sizeof(T));
      v = static_cast<T>(op(v, other));
    }
    return v;
  }
  T Sum(T v, const Site& site = Site::current()) const { return Reduce(v, cub::Sum(), kThreads, site); }
  T Sum(T v, int count, const Site& site = Site::current()) const {
    return Reduce(v, cub::Sum(), count, site);
  }
  template <int n>
  T Sum(T (&items)[n], const Site& site = Site::current()) const {
    return Reduce(detail::reduce_items(items, cub::Sum()), cub::Sum(), kThreads, site);
  }

 private:
  static TempStorage& own_storage() {
    static const char tag = 0;
    return *static_cast<TempStorage*>(
        executor::static_shared(&tag, sizeof(TempStorage), alignof(TempStorage)));
  }
  TempStorage& storage_;
};

}  // namespace assay::ASSAY_BACKEND::cub

#pragma pop_macro("ASSAY_BACKEND")

// SPDX-License-Identifier: Apache-2.0
// How the threads that share a row walk it, 16 bytes at a time, for any row length V and alignment:
//   walk_row     follows the 16-byte boundaries of the memory. For passes such as a maximum, where it does
//   not
//                matter which thread reads which element, or when. (For an output: write_row, row_write.cuh.)
//   walk_chunks  follows the row: chunk c is always elements cN .. cN + N - 1, so that a sum has the same
//                bits at any place in a batch. Rows that are not aligned are shifted in registers.
#pragma once

#include <type_traits>

#include "kernels/building_blocks/reduce.cuh"
#if !defined(__CUDACC__)
#include "kernels/host/half2.hpp"
#endif

namespace assay::ASSAY_BACKEND {

/// Number of elements in one 16-byte access.
template <class T>
inline constexpr int kPerAccess = static_cast<int>(16 / sizeof(T));

template <class T>
struct alignas(16) Access {
  T e[kPerAccess<T>];
};
/// 16-bit elements stay in pairs, as they lie in a register; one by one, each would cost an extra
/// permutation. may_alias: the words are memory of another type.
template <>
struct [[gnu::may_alias]] alignas(16) Access<f16> {
  unsigned w[4];
};
template <>
struct [[gnu::may_alias]] alignas(16) Access<bf16> {
  unsigned w[4];
};

/// Number of threads of a block that walks a row of length V. Half the usual number if each thread would
/// otherwise make fewer than four accesses: merging the partial results would then cost as much as the row.
inline constexpr int kRowThreads = 256;
template <class T>
constexpr int row_threads(std::int64_t V) {
  return V <= 4 * kPerAccess<T> * (kRowThreads / 2) ? kRowThreads / 2 : kRowThreads;
}
/// Minimum blocks per SM that limits a thread to 32 registers: every thread an SM can hold, each with 16
/// bytes in flight.
constexpr int full_sm(int threads) { return 2048 / threads; }

/// N neighbouring elements of a row, and their maximum without NaN.
template <int N>
struct Chunk {
  float x[N];
  float largest;
};
__device__ __forceinline__ Chunk<1> single(float x) { return {{x}, x}; }

template <class T>
struct PairOf;
template <>
struct PairOf<f16> {
  using type = __half2;
  __device__ __forceinline__ static float2 unpack(__half2 p) { return __half22float2(p); }
  __device__ __forceinline__ static __half2 pack(float a, float b) { return __floats2half2_rn(a, b); }
};
template <>
struct PairOf<bf16> {
  using type = __nv_bfloat162;
  __device__ __forceinline__ static float2 unpack(__nv_bfloat162 p) { return __bfloat1622float2(p); }
  __device__ __forceinline__ static __nv_bfloat162 pack(float a, float b) {
    return __floats2bfloat162_rn(a, b);
  }
};

template <class T>
__device__ __forceinline__ Chunk<kPerAccess<T>> as_floats(const Access<T>& a) {
  Chunk<kPerAccess<T>> c;
  if constexpr (sizeof(T) == 2) {
    typename PairOf<T>::type pairs[kPerAccess<T> / 2];
    memcpy(pairs, &a, 16);
    auto most = pairs[0];
#pragma unroll
    for (int j = 0; j < kPerAccess<T> / 2; ++j) {
      const float2 two = PairOf<T>::unpack(pairs[j]);
      c.x[2 * j] = two.x;
      c.x[2 * j + 1] = two.y;
      most = __hmax2(most, pairs[j]);  // two comparisons in one
    }
    const float2 two = PairOf<T>::unpack(most);
    c.largest = fmaxf(two.x, two.y);
  } else {
    c.largest = to_float(a.e[0]);
#pragma unroll
    for (int j = 0; j < kPerAccess<T>; ++j) {
      c.x[j] = to_float(a.e[j]);
      c.largest = fmaxf(c.largest, c.x[j]);
    }
  }
  return c;
}

/// An access whose elements are all -inf.
template <class T>
__device__ __forceinline__ Access<T> no_access() {
  Access<T> a;
  if constexpr (sizeof(T) == 2) {
    const unsigned pair = std::is_same_v<T, f16> ? 0xfc00fc00u : 0xff80ff80u;
#pragma unroll
    for (unsigned& w : a.w) w = pair;
  } else {
#pragma unroll
    for (T& e : a.e) e = negative_infinity();
  }
  return a;
}

template <class T>
__device__ __forceinline__ Access<T> as_elements(const Chunk<kPerAccess<T>>& c) {
  Access<T> a;
  if constexpr (sizeof(T) == 2) {
    typename PairOf<T>::type pairs[kPerAccess<T> / 2];
#pragma unroll
    for (int j = 0; j < kPerAccess<T> / 2; ++j) pairs[j] = PairOf<T>::pack(c.x[2 * j], c.x[2 * j + 1]);
    memcpy(&a, pairs, 16);
  } else {
#pragma unroll
    for (int j = 0; j < kPerAccess<T>; ++j) a.e[j] = from_float<T>(c.x[j]);
  }
  return a;
}

/// One burst of walk_ahead: kCount loads, then their uses.
template <int kStep, int kCount, class Load, class Unpack, class Use>
__device__ __forceinline__ void burst(std::int64_t i, Load load, Unpack unpack, Use use) {
  decltype(load(i)) loaded[kCount];
#pragma unroll
  for (int u = 0; u < kCount; ++u) loaded[u] = load(i + u * kStep);
#pragma unroll
  for (int u = 0; u < kCount; ++u) use(unpack(loaded[u]), i + u * kStep);
}

/// Calls use(unpack(load(i)), i) for i = first, first + kStep, ... below `end`, in order, with kAhead (1, 2
/// or 4) loads at a time. Of the rest, two are loaded together, then one. (Loading while earlier loads are
/// used was slower on an H200 at any depth: the registers cost more than the wait, which other warps fill.)
template <int kStep, int kAhead, class Load, class Unpack, class Use>
__device__ __forceinline__ void walk_ahead(std::int64_t first, std::int64_t end, Load load, Unpack unpack,
                                           Use use) {
  static_assert(kAhead == 1 || kAhead == 2 || kAhead == 4);
  std::int64_t i = first;
  for (; i < end - (kAhead - 1) * kStep; i += kAhead * kStep) burst<kStep, kAhead>(i, load, unpack, use);
  if constexpr (kAhead > 2)
    if (i < end - kStep) {
      burst<kStep, 2>(i, load, unpack, use);
      i += 2 * kStep;
    }
  if constexpr (kAhead > 1)
    if (i < end) burst<kStep, 1>(i, load, unpack, use);
}

/// The rest of a walk by bursts: accesses start .. end - 1, fewer than kStep x kAhead. Each thread loads its
/// share together, and takes -inf for what lies past `end`. (Without a value for these the compiler spills
/// some 100 bytes a thread.) kIdle: `use` is called for them too. All threads of a warp start the rest
/// together, when no thread has a whole burst left. Otherwise the warp would execute both the bursts of some
/// lanes and the rest of others (at V = 8064, f16: a tenth more instructions).
template <int kStep, int kAhead, bool kIdle, class T, class Load, class Use>
__device__ __forceinline__ void use_rest(std::int64_t start, std::int64_t end, int thread, Load load,
                                         Use use) {
  const auto left = static_cast<int>(end - start);
  Access<T> loaded[kAhead];
#pragma unroll
  for (int u = 0; u < kAhead; ++u) {
    loaded[u] = no_access<T>();
    if (thread + u * kStep < left) loaded[u] = load(start + thread + u * kStep);
  }
#pragma unroll
  for (int u = 0; u < kAhead; ++u)
    if (u * kStep + (kIdle ? 0 : thread) < left) use(as_floats(loaded[u]), start + thread + u * kStep);
}

/// Calls use(as_floats(load(i)), i) for i = thread, thread + kStep, ... below `end`, in order, with kAhead
/// loads at a time. kIdle: `use` may also get chunks of -inf alone, for positions past `end`.
template <int kStep, int kAhead, bool kIdle, class T, class Load, class Use>
__device__ __forceinline__ void walk_accesses(std::int64_t end, int thread, Load load, Use use) {
  if constexpr (kAhead == 1) {
    for (std::int64_t i = thread; i < end; i += kStep) use(as_floats<T>(load(i)), i);
  } else {
    std::int64_t start = 0;
    for (; start + kAhead * kStep <= end; start += kAhead * kStep)
      burst<kStep, kAhead>(start + thread, load, as_floats<T>, use);
    if (start < end) use_rest<kStep, kAhead, kIdle, T>(start, end, thread, load, use);
  }
}

/// The same accesses from the end to the start: first the rest, then the bursts. Within each the order is
/// ascending.
template <int kStep, int kAhead, class T, class Load, class Use>
__device__ __forceinline__ void walk_accesses_back(std::int64_t end, int thread, Load load, Use use) {
  static_assert(((kStep * kAhead) & (kStep * kAhead - 1)) == 0);
  std::int64_t i;
  if constexpr (kAhead == 1) {
    i = ((end - 1 - thread) & -kStep) + thread;  // negative if the thread has none
  } else {
    const std::int64_t start = end & -std::int64_t{kAhead * kStep};
    if (start < end) use_rest<kStep, kAhead, false, T>(start, end, thread, load, use);
    i = start - kAhead * kStep + thread;
  }
  for (; i >= 0; i -= kAhead * kStep) burst<kStep, kAhead>(i, load, as_floats<T>, use);
}

/// Passes each chunk of x[0..V) to one of `kThreads` threads, from the end of the row to its start. A
/// walk_chunks that follows then starts with what is still in the caches. Each thread has kAhead accesses in
/// flight.
template <int kThreads, int kAhead = 1, class T, class F>
__device__ __forceinline__ void walk_row(const T* x, std::int64_t V, int thread, F f) {
  constexpr int N = kPerAccess<T>;
  const std::int64_t to_boundary =
      static_cast<std::int64_t>((16 - reinterpret_cast<std::uintptr_t>(x) % 16) % 16 / sizeof(T));
  const std::int64_t head = to_boundary < V ? to_boundary : V;
  const std::int64_t accesses = (V - head) / N;
  const Access<T>* const body = reinterpret_cast<const Access<T>*>(x + head);
  walk_accesses_back<kThreads, kAhead, T>(
      accesses, thread, [&](std::int64_t i) { return body[i]; },
      [&](const Chunk<N>& c, std::int64_t) { f(c); });
  const std::int64_t last = head + accesses * N + thread;
  if (last < V) f(single(to_float(x[last])));
  if (thread < head) f(single(to_float(x[thread])));
}

/// 16 bytes from two neighbouring accesses: they start at element `phase` (1 .. kPerAccess - 1) of `low` and
/// end in `high`.
template <class T>
__device__ __forceinline__ Access<T> realigned(const Access<T>& low, const Access<T>& high, int phase) {
  unsigned w[8];
  memcpy(w, &low, 16);
  memcpy(w + 4, &high, 16);
  const int bytes = phase * static_cast<int>(sizeof(T));
  if (bytes & 8) {
#pragma unroll
    for (int j = 0; j < 6; ++j) w[j] = w[j + 2];
  }
  if (bytes & 4) {
#pragma unroll
    for (int j = 0; j < 5; ++j) w[j] = w[j + 1];
  }
  if (sizeof(T) == 2) {
    const int bits = (bytes & 2) * 8;  // 0 or 16
#pragma unroll
    for (int j = 0; j < 4; ++j)
      w[j] = static_cast<unsigned>((w[j] | static_cast<unsigned long long>(w[j + 1]) << 32) >> bits);
  }
  Access<T> a;
  memcpy(&a, w, 16);
  return a;
}

/// Passes chunks c = thread, thread + kThreads, ... of x[0..V) to f(Chunk<kPerAccess>), then the last V %
/// kPerAccess elements to the first threads, as f(Chunk<1>). With kAhead above 1, f also gets chunks of -inf
/// alone; they change no maximum and add exp(-inf) = 0 to a sum.
template <int kThreads, int kAhead = 1, class T, class F>
__device__ __forceinline__ void walk_chunks(const T* x, std::int64_t V, int thread, F f) {
  constexpr int N = kPerAccess<T>;
  const std::int64_t chunks = V / N;
  const int phase = static_cast<int>(reinterpret_cast<std::uintptr_t>(x) % 16 / sizeof(T));
  const Access<T>* const body = reinterpret_cast<const Access<T>*>(x - phase);
  if (phase == 0) {
    walk_accesses<kThreads, kAhead, true, T>(
        chunks, thread, [&](std::int64_t i) { return body[i]; },
        [&](const Chunk<N>& of, std::int64_t) { f(of); });
  } else {
    // For the first chunk and the last one or two, one of the two accesses would leave the row.
    const auto singly = [&](std::int64_t c) {
      Chunk<N> of;
      of.largest = to_float(x[c * N]);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        of.x[j] = to_float(x[c * N + j]);
        of.largest = fmaxf(of.largest, of.x[j]);
      }
      f(of);
    };
    const std::int64_t inside =
        (V + phase) / N - 1;  // chunks 1 .. inside - 1 lie between two accesses of the row
    std::int64_t c = thread;
    if (c == 0 && chunks > 0) {
      singly(0);
      c += kThreads;
    }
    struct Neighbours {
      Access<T> low, high;
    };
    walk_ahead<kThreads, kAhead>(
        c, inside,
        [&](std::int64_t at) {
          return Neighbours{body[at], body[at + 1]};
        },
        [&](const Neighbours& loaded) { return as_floats(realigned(loaded.low, loaded.high, phase)); },
        [&](const Chunk<N>& of, std::int64_t) { f(of); });
    // Each thread has at most one of the chunks that are left: the next one of its sequence.
    for (std::int64_t rest = inside > 1 ? inside : 1; rest < chunks; ++rest)
      if (rest % kThreads == thread) singly(rest);
  }
  const std::int64_t last = chunks * N + thread;
  if (last < V) f(single(to_float(x[last])));
}

/// Largest number of elements that walk_chunks gives to one of `threads` threads, for row length V.
template <class T>
constexpr std::int64_t chunk_share(std::int64_t V, int threads) {
  constexpr int N = kPerAccess<T>;
  return ceil_div(V / N, threads) * N + (V % N != 0 ? 1 : 0);
}

/// n ⊕ the leaves of a chunk. It rescales d only if the chunk holds a larger maximum, and then once: exp(0) =
/// 1 is exact. A NaN logit leaves m unchanged and makes d NaN.
template <class E, int N>
__device__ __forceinline__ void fold_chunk(Normalizer& n, const Chunk<N>& c) {
  const float largest = fmaxf(n.m, c.largest);
  const float shift = largest == negative_infinity() ? 0.0f : largest;  // avoids (-inf) - (-inf)
  if (largest > n.m) {
    n.d *= E::of(n.m - shift);
    n.m = largest;
  }
#pragma unroll
  for (int j = 0; j < N; ++j) n.d += E::of(c.x[j] - shift);
}

/// Makes a thread's folded value fit for ⊕. A slice of only -inf and NaN has no maximum, and without this ⊕
/// would take it for the identity.
__device__ __forceinline__ Normalizer folded(Normalizer n) {
  if (n.m == negative_infinity() && n.d != n.d) n.m = n.d;
  return n;
}

}  // namespace assay::ASSAY_BACKEND

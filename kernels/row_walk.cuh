// How the threads that share a row walk it, 16 bytes at a time whatever the row's length and alignment:
//   walk_row     follows the 16-byte boundaries of the memory; for passes where nothing depends on which
//                thread sees which element (a maximum, an output);
//   walk_chunks  follows the row: chunk c is elements cN .. cN + N - 1 wherever the row starts, so that a sum
//                has the same bits at any place of a batch. Rows off the boundaries are shifted in registers.
#pragma once

#include "kernels/reduce.cuh"

namespace assay::ASSAY_BACKEND {

/// Elements of one 16-byte access.
template <class T>
inline constexpr int kPerAccess = static_cast<int>(16 / sizeof(T));

template <class T>
struct alignas(16) Access {
  T e[kPerAccess<T>];
};

/// Threads of a block that walks a row of V: half the usual where the usual would leave each thread less than
/// four accesses, and merging their partials would cost as much as the row.
inline constexpr int kRowThreads = 256;
template <class T>
constexpr int row_threads(std::int64_t V) {
  return V <= 4 * kPerAccess<T> * (kRowThreads / 2) ? kRowThreads / 2 : kRowThreads;
}
/// 32 registers: every thread an SM can hold, each with 16 bytes in flight.
constexpr int full_sm(int threads) { return 2048 / threads; }

/// N neighbouring elements of a row.
template <int N>
struct Chunk {
  float x[N];
};

template <class T>
__device__ __forceinline__ Chunk<kPerAccess<T>> as_floats(const Access<T>& a) {
  Chunk<kPerAccess<T>> c;
#pragma unroll
  for (int j = 0; j < kPerAccess<T>; ++j) c.x[j] = to_float(a.e[j]);
  return c;
}

/// Hands each chunk of x[0..V) to one of `kThreads` threads: f(Chunk<1 or kPerAccess>, index of its first
/// element). `kAhead` accesses of a thread are in flight before the first is used.
template <int kThreads, int kAhead = 1, class T, class F>
__device__ __forceinline__ void walk_row(const T* x, std::int64_t V, int thread, F f) {
  constexpr int N = kPerAccess<T>;
  const std::int64_t to_boundary =
      static_cast<std::int64_t>((16 - reinterpret_cast<std::uintptr_t>(x) % 16) % 16 / sizeof(T));
  const std::int64_t head = to_boundary < V ? to_boundary : V;
  if (thread < head) f(Chunk<1>{{to_float(x[thread])}}, std::int64_t{thread});
  const std::int64_t accesses = (V - head) / N;
  const Access<T>* const body = reinterpret_cast<const Access<T>*>(x + head);
  for (std::int64_t a = thread; a < accesses; a += kThreads * kAhead) {
    Access<T> loaded[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u)
      if (a + u * kThreads < accesses) loaded[u] = body[a + u * kThreads];
#pragma unroll
    for (int u = 0; u < kAhead; ++u)
      if (a + u * kThreads < accesses) {
        f(as_floats(loaded[u]), head + (a + u * kThreads) * N);
      }
  }
  const std::int64_t last = head + accesses * N + thread;
  if (last < V) f(Chunk<1>{{to_float(x[last])}}, last);
}

/// The 16 bytes that start `phase` elements (1 .. kPerAccess - 1) into `low` and end in `high`, its
/// neighbour.
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

/// Hands chunks c = thread, thread + kThreads, ... of x[0..V) to f(Chunk<kPerAccess>), then the last
/// V % kPerAccess elements to the first threads, as f(Chunk<1>).
template <int kThreads, int kAhead = 1, class T, class F>
__device__ __forceinline__ void walk_chunks(const T* x, std::int64_t V, int thread, F f) {
  constexpr int N = kPerAccess<T>;
  const std::int64_t chunks = V / N;
  const int phase = static_cast<int>(reinterpret_cast<std::uintptr_t>(x) % 16 / sizeof(T));
  const Access<T>* const body = reinterpret_cast<const Access<T>*>(x - phase);
  if (phase == 0) {
    for (std::int64_t c = thread; c < chunks; c += kThreads * kAhead) {
      Access<T> loaded[kAhead];
#pragma unroll
      for (int u = 0; u < kAhead; ++u)
        if (c + u * kThreads < chunks) loaded[u] = body[c + u * kThreads];
#pragma unroll
      for (int u = 0; u < kAhead; ++u)
        if (c + u * kThreads < chunks) f(as_floats(loaded[u]));
    }
  } else {
    // The first chunk and the last one or two: one of the two accesses would leave the row.
    const auto singly = [&](std::int64_t c) {
      Access<T> a;
#pragma unroll
      for (int j = 0; j < N; ++j) a.e[j] = x[c * N + j];
      f(as_floats(a));
    };
    const std::int64_t inside =
        (V + phase) / N - 1;  // chunks 1 .. inside - 1 lie between two accesses of the row
    std::int64_t c = thread;
    if (c == 0 && chunks > 0) {
      singly(0);
      c += kThreads;
    }
    for (; c < inside; c += kThreads * kAhead) {
      Access<T> low[kAhead], high[kAhead];
#pragma unroll
      for (int u = 0; u < kAhead; ++u)
        if (c + u * kThreads < inside) {
          low[u] = body[c + u * kThreads];
          high[u] = body[c + u * kThreads + 1];
        }
#pragma unroll
      for (int u = 0; u < kAhead; ++u)
        if (c + u * kThreads < inside) f(as_floats(realigned(low[u], high[u], phase)));
    }
    // Of the chunks that are left each thread has at most one: its next in turn.
    for (std::int64_t rest = inside > 1 ? inside : 1; rest < chunks; ++rest)
      if (rest % kThreads == thread) singly(rest);
  }
  const std::int64_t last = chunks * N + thread;
  if (last < V) f(Chunk<1>{{to_float(x[last])}});
}

/// Most elements of a row of V that walk_chunks hands to one of `threads` threads.
template <class T>
constexpr std::int64_t chunk_share(std::int64_t V, int threads) {
  constexpr int N = kPerAccess<T>;
  return ceil_div(V / N, threads) * N + (V % N != 0 ? 1 : 0);
}

/// True if chunks of a walk over `x` may be stored to the same places of `p` as one access each.
template <class T>
__device__ __forceinline__ bool same_phase(const T* x, const T* p) {
  return (reinterpret_cast<std::uintptr_t>(x) - reinterpret_cast<std::uintptr_t>(p)) % 16 == 0;
}

template <class T, int N>
__device__ __forceinline__ void store_chunk(T* p, const Chunk<N>& c, bool one_access) {
  if (N == kPerAccess<T> && one_access) {
    Access<T> a;
#pragma unroll
    for (int j = 0; j < N; ++j) a.e[j % kPerAccess<T>] = from_float<T>(c.x[j]);
    *reinterpret_cast<Access<T>*>(p) = a;
    return;
  }
#pragma unroll
  for (int j = 0; j < N; ++j) p[j] = from_float<T>(c.x[j]);
}

/// n ⊕ the leaves of a chunk. Rescales d once, and only when the chunk holds a larger maximum: exp(0) = 1 is
/// exact. A NaN logit leaves m as it is and makes d NaN.
template <class E, int N>
__device__ __forceinline__ void fold_chunk(Normalizer& n, const Chunk<N>& c) {
  float largest = n.m;
#pragma unroll
  for (int j = 0; j < N; ++j) largest = fmaxf(largest, c.x[j]);
  const float shift = largest == negative_infinity() ? 0.0f : largest;  // (-inf) - (-inf) is never formed
  if (largest > n.m) {
    n.d *= E::of(n.m - shift);
    n.m = largest;
  }
#pragma unroll
  for (int j = 0; j < N; ++j) n.d += E::of(c.x[j] - shift);
}

/// What a thread's folds leave behind, fit for ⊕: a slice of -inf and NaN alone has no maximum, and would
/// pass for the identity.
__device__ __forceinline__ Normalizer folded(Normalizer n) {
  if (n.m == negative_infinity() && n.d != n.d) n.m = n.d;
  return n;
}

}  // namespace assay::ASSAY_BACKEND

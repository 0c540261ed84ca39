// SPDX-License-Identifier: Apache-2.0
// A row, or a slice of one, in the registers of the threads that share it: read once and written once, 16
// bytes at a time, for any alignment:
//   edge   the elements before the first 32-byte boundary of the memory, and those after the last whole
//   access.
//          A thread has at most one.
//   body   whole accesses. Access i belongs to thread i mod (number of threads).
// Alignment decides which thread holds an element, and so the order of the sum: the same row may get other
// bits at another address. Where it may not (kAnywhere), the body begins with the row, and where that is no
// multiple of 16 bytes, the lanes of a warp load its accesses together (above).
#pragma once

#include "kernels/building_blocks/onepass/barrier.cuh"
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/row_divisor.cuh"
#include "kernels/building_blocks/row_write.cuh"

namespace assay::ASSAY_BACKEND::onepass {

// Accesses of a row that starts at no multiple of 16 bytes, for kernels whose order of the sum may not depend
// on where a row lies. Access i is elements iN .. iN + N - 1 of the row there, as it is in an aligned row.
// The accesses of a warp are neighbours. Between them lie aligned accesses, one fewer: each lane moves one
// and exchanges with its neighbour what belongs to that. The two ends are moved element by element. So a
// warp touches its own elements and no others.

/// Number of elements between p and the multiple of 16 bytes before it.
template <class T>
__device__ __forceinline__ int past_access(const T* p) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(p) % 16 / sizeof(T));
}

/// The 16 bytes that follow the first `from` elements of `low` and then `high`. 0 < from < kPerAccess.
template <class T>
__device__ __forceinline__ Access<T> joined(const Access<T>& low, const Access<T>& high, int from) {
  std::uint32_t w[8];
  memcpy(w, &low, 16);
  memcpy(w + 4, &high, 16);
  const int bytes = from * static_cast<int>(sizeof(T));
#pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = bytes & 8 ? w[i + 2] : w[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) w[i] = bytes & 4 ? w[i + 1] : w[i];
  if constexpr (sizeof(T) == 2) {
#pragma unroll
    for (int i = 0; i < 4; ++i) w[i] = bytes & 2 ? w[i] >> 16 | w[i + 1] << 16 : w[i];
  }
  Access<T> a;
  memcpy(&a, w, 16);
  return a;
}

/// f of each half of an access.
template <class T, class F>
__device__ __forceinline__ Access<T> of_halves(const Access<T>& a, F f) {
  unsigned long long half[2];
  memcpy(half, &a, 16);
  half[0] = f(half[0]);
  half[1] = f(half[1]);
  Access<T> b;
  memcpy(&b, half, 16);
  return b;
}

/// Lane l of a warp gets access l from `first` on, or -inf if l is not below `count`. All lanes call it.
template <class T>
__device__ __forceinline__ Access<T> load_misaligned(const T* first, int count, int lane) {
  constexpr int N = kPerAccess<T>;
  const int past = past_access(first);
  const T* const mine = first + lane * N;
  Access<T> own = no_access<T>();
  if (lane > 0 && lane < count) own = load_last(reinterpret_cast<const Access<T>*>(mine - past));
  const Access<T> next =
      of_halves(own, [](unsigned long long h) { return __shfl_down_sync(kAllLanes, h, 1); });
  if (lane >= count) return no_access<T>();
  if (lane > 0 && lane < 31 && lane + 1 < count) return joined(own, next, past);
  T e[N];
#pragma unroll
  for (int j = 0; j < N; ++j) e[j] = mine[j];
  memcpy(&own, e, 16);
  return own;
}

/// Lane l of a warp stores access l from `first` on, if l is below `count`. All lanes call it.
template <class T>
__device__ __forceinline__ void store_misaligned(T* first, int count, const Access<T>& own, int lane) {
  constexpr int N = kPerAccess<T>;
  const int past = past_access(first), last = count < 32 ? count - 1 : 31;
  T* const mine = first + lane * N;
  const Access<T> before =
      of_halves(own, [](unsigned long long h) { return __shfl_up_sync(kAllLanes, h, 1); });
  __syncwarp();  // in place, a lane overwrites what its neighbours have loaded
  if (lane > last) return;
  if (lane > 0) store_last(reinterpret_cast<Access<T>*>(mine - past), joined(before, own, N - past));
  T e[N];
  memcpy(e, &own, 16);
#pragma unroll
  for (int j = 0; j < N; ++j)
    if (j < N - past ? lane == 0 : lane == last) mine[j] = e[j];
}

/// Where the parts of a row lie. `head` and `tail` count elements, `accesses` counts 16-byte accesses.
template <class T>
struct Parts {
  int head, tail;
  std::int64_t accesses;

  __device__ __forceinline__ Parts(const T* x, std::int64_t V, bool anywhere = false) {
    const auto past = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(x) % kSector);
    const auto to_sector = anywhere ? 0 : static_cast<int>((kSector - past) % kSector / sizeof(T));
    head = to_sector < V ? to_sector : static_cast<int>(V);
    accesses = (V - head) / kPerAccess<T>;
    tail = static_cast<int>(V - head - accesses * kPerAccess<T>);
  }
  /// Index of the edge element that belongs to a thread, or -1.
  __device__ __forceinline__ std::int64_t edge(int thread) const {
    return thread < head          ? thread
           : thread < head + tail ? accesses * kPerAccess<T> + thread
                                  : std::int64_t{-1};
  }
};
/// More threads than this have no edge element: fewer than a sector before the body, fewer than an access
/// after.
template <class T>
inline constexpr int kMostEdges = (kSector + 16) / static_cast<int>(sizeof(T)) - 2;
static_assert(kMostEdges<f16> <= 32);  // the edges of a row belong to one warp

/// kCount accesses of a thread: accesses[thread + i x threads], i = 0 .. kCount - 1. Those past `end` are
/// -inf. kAnywhere: they may lie at any address; all threads of a warp load and store together.
template <class T, int kCount, bool kAnywhere = false>
struct Held {
  Access<T> part[kCount];

  __device__ __forceinline__ void load(const Access<T>* from, int end, int thread, int threads) {
    if constexpr (kAnywhere)
      if (past_access(as_elements_at(from)) != 0) return load_together(from, end, thread, threads);
    fill(end, thread, threads, [from](int at) { return load_last(from + at); });
  }
  __device__ __forceinline__ void load_shared(const Access<T>* from, int end, int thread, int threads) {
    fill(end, thread, threads, [from](int at) { return from[at]; });
  }
  __device__ __forceinline__ void store_shared(Access<T>* to, int end, int thread, int threads) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (thread + i * threads < end) to[thread + i * threads] = part[i];
  }

  /// All of them are there. `from`: the thread's first.
  __device__ __forceinline__ void load_whole_shared(const Access<T>* from, int threads) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) part[i] = from[i * threads];
  }

  /// Element j: the largest of the elements j of all accesses, without NaN. NaN if all are NaN.
  __device__ __forceinline__ Access<T> largest_of_each() const {
    Access<T> most = part[0];
#pragma unroll
    for (int i = 1; i < kCount; ++i) most = larger(most, part[i]);
    return most;
  }
  /// The largest element without NaN. NaN if all are NaN.
  __device__ __forceinline__ float largest() const { return as_floats(largest_of_each()).largest; }

  /// Sum of exp(x - shift).
  template <class E>
  __device__ __forceinline__ float sum(float shift) const {
    float total = 0.0f;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const auto c = as_floats(part[i]);
#pragma unroll
      for (int j = 0; j < kPerAccess<T>; ++j) total += E::of(c.x[j] - shift);
    }
    return total;
  }

  /// Stores f of each chunk; f(Chunk&) replaces the logits by the outputs. `vector`: `to` is a multiple of 16
  /// bytes. kApart: one loop for that and one for other addresses. It is up to 5 % faster (f16, V = 2016).
  /// For f32 in a block it is slower: 1 % at V = 128,256, and 6 % at 524,288 with the accurate exp.
  template <bool kApart = true, class F>
  __device__ __forceinline__ void store(T* to, int end, int thread, int threads, bool vector, F f) const {
    if constexpr (kAnywhere)
      if (!vector) return store_together(to, end, thread, threads, f);
    if (kApart && vector) {
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        if (thread + i * threads < end) put(to, thread + i * threads, i, true, f);
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        if (thread + i * threads < end) put(to, thread + i * threads, i, !kApart && vector, f);
    }
  }

  /// Makes the compiler forget that it has already converted the elements. Otherwise it keeps all of them as
  /// floats between two uses, and 16-bit rows need twice the registers.
  __device__ __forceinline__ void forget() {
#if defined(__CUDACC__)
    if constexpr (sizeof(T) == 2) {
#pragma unroll
      for (int i = 0; i < kCount; ++i)
#pragma unroll
        for (unsigned& w : part[i].w) asm volatile("" : "+r"(w));
    }
#endif
  }

 private:
  /// Stores f of part i as access `at`.
  template <class F>
  __device__ __forceinline__ void put(T* to, int at, int i, bool vector, F f) const {
    auto c = as_floats(part[i]);
    f(c);
    if (vector) return store_last(reinterpret_cast<Access<T>*>(to) + at, as_elements<T>(c));
#pragma unroll
    for (int j = 0; j < kPerAccess<T>; ++j) to[at * kPerAccess<T> + j] = from_float<T>(c.x[j]);
  }
  __device__ __forceinline__ static const T* as_elements_at(const Access<T>* p) {
    return reinterpret_cast<const T*>(p);
  }
  __device__ __forceinline__ void load_together(const Access<T>* from, int end, int thread, int threads) {
    const int lane = thread % 32;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int first = thread - lane + i * threads;
      part[i] = load_misaligned(as_elements_at(from) + first * kPerAccess<T>, end - first, lane);
    }
  }
  template <class F>
  __device__ __forceinline__ void store_together(T* to, int end, int thread, int threads, F f) const {
    const int lane = thread % 32;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int first = thread - lane + i * threads;
      auto c = as_floats(part[i]);
      f(c);
      store_misaligned(to + first * kPerAccess<T>, end - first, as_elements<T>(c), lane);
    }
  }
  template <class F>
  __device__ __forceinline__ void fill(int end, int thread, int threads, F get) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int at = thread + i * threads;
      part[i] = no_access<T>();
      if (at < end) part[i] = get(at);
    }
  }
  __device__ __forceinline__ static Access<T> larger(const Access<T>& a, const Access<T>& b) {
    Access<T> most;
    if constexpr (sizeof(T) == 2) {
      typename PairOf<T>::type p[kPerAccess<T> / 2], q[kPerAccess<T> / 2];
      memcpy(p, &a, 16);
      memcpy(q, &b, 16);
#pragma unroll
      for (int j = 0; j < kPerAccess<T> / 2; ++j) p[j] = __hmax2(p[j], q[j]);
      memcpy(&most, p, 16);
    } else {
#pragma unroll
      for (int j = 0; j < kPerAccess<T>; ++j) most.e[j] = fmaxf(a.e[j], b.e[j]);
    }
    return most;
  }
};

/// What exps are taken relative to: the maximum, or 0 if there is none. (It avoids (-inf) - (-inf).)
__device__ __forceinline__ float reference(float maximum) {
  return maximum == negative_infinity() ? 0.0f : maximum;
}

/// The merge of the values of `lanes` neighbouring lanes, a power of two. One rescale per value: first the
/// maximum, then the sum of what has been rescaled to it. All lanes of the warp must call it.
template <class E>
__device__ __forceinline__ Normalizer merge_lanes(Normalizer n, int lanes = 32) {
  float maximum = n.m;
#pragma unroll
  for (int step = lanes / 2; step > 0; step /= 2) maximum = fmaxf(maximum, shuffle_xor(maximum, step));
  n.d *= E::of(n.m - reference(maximum));
#pragma unroll
  for (int step = lanes / 2; step > 0; step /= 2) n.d += shuffle_xor(n.d, step);
  return {maximum, n.d};
}

/// A row of only -inf and NaN has no maximum. Its m is NaN, as that of every other row with NaN in the sum.
__device__ __forceinline__ void store_normalizer(float* m, float* d, std::int64_t row, Normalizer n) {
  m[row] = n.m == negative_infinity() && n.d != n.d ? n.d : n.m;
  d[row] = n.d;
}

// What is made of a row, `Form`: an op, its exp and its division. A Form of the op lse has one value a row,
// of(n). The others have outputs(c), which replaces logits by outputs.

/// True of a form whose rows get the same bits at any address and in any batch.
template <class Form>
inline constexpr bool kAnywhere = false;

/// exp(x - m) / d, correctly rounded quotients.
struct Accurate {
  static constexpr Op op = Op::softmax;
  using Exp = AccurateExp;
  static constexpr assay::Exp exp = assay::Exp::accurate;
  static constexpr Division division = Division::ieee;
  static constexpr bool ftz = false;
  float m;
  RowDivisor by;
  __device__ __forceinline__ explicit Accurate(Normalizer n) : m(n.m), by(row_divisor(n.d)) {}
  template <class T, int N>
  __device__ __forceinline__ void outputs(Chunk<N>& c) const {
#pragma unroll
    for (int j = 0; j < N; ++j) c.x[j] = Exp::of(c.x[j] - m);
    divide_chunk<T>(c, by);
  }
};

/// __expf with results below the smallest normal number flushed to 0: three instructions instead of six.
struct FlushedExp {
  __device__ __forceinline__ static float of(float t) {
#if defined(__CUDACC__)
    float e;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(t * kLog2e));
    return e;
#else
    const float e = __expf(t);
    return e < 0x1p-126f ? 0.0f : e;
#endif
  }
};

/// exp(x - m) by FlushedExp, times the reciprocal of d.
struct Fast {
  static constexpr Op op = Op::softmax;
  using Exp = FlushedExp;
  static constexpr assay::Exp exp = assay::Exp::fast;
  static constexpr Division division = Division::reciprocal;
  static constexpr bool ftz = true;
  float m, reciprocal;
  __device__ __forceinline__ explicit Fast(Normalizer n) : m(n.m), reciprocal(1.0f / n.d) {}
  template <class T, int N>
  __device__ __forceinline__ void outputs(Chunk<N>& c) const {
#pragma unroll
    for (int j = 0; j < N; ++j) c.x[j] = Exp::of(c.x[j] - m) * reciprocal;
  }
};

/// Form, with the same bits for the same row wherever it lies and whatever rows there are beside it.
template <class Form>
struct Invariant : Form {
  static_assert(Form::op != Op::lse);  // stream.cuh begins at a sector
  using Form::Form;
};
template <class Form>
inline constexpr bool kAnywhere<Invariant<Form>> = true;

/// (x - m) - log d.
struct LogSoftmax {
  static constexpr Op op = Op::log_softmax;
  using Exp = AccurateExp;
  static constexpr assay::Exp exp = assay::Exp::accurate;
  static constexpr Division division = Division::ieee;
  static constexpr bool ftz = false;
  float m, log_d;
  __device__ __forceinline__ explicit LogSoftmax(Normalizer n) : m(n.m), log_d(logf(n.d)) {}
  template <class T, int N>
  __device__ __forceinline__ void outputs(Chunk<N>& c) const {
#pragma unroll
    for (int j = 0; j < N; ++j) c.x[j] = (c.x[j] - m) - log_d;
  }
};

/// m + log d, one value a row. A row of only -inf: (-inf) + log 0 = -inf.
template <class E, assay::Exp kExp, bool kFtz>
struct Lse {
  static constexpr Op op = Op::lse;
  using Exp = E;
  static constexpr assay::Exp exp = kExp;
  static constexpr Division division = Division::ieee;
  static constexpr bool ftz = kFtz;
  __device__ __forceinline__ static float of(Normalizer n) { return n.m + logf(n.d); }
};
using LseAccurate = Lse<AccurateExp, assay::Exp::accurate, false>;
using LseFast = Lse<FlushedExp, assay::Exp::fast, true>;

}  // namespace assay::ASSAY_BACKEND::onepass

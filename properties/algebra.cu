// SPDX-License-Identifier: Apache-2.0
// ⊕ with the compiler flags of each backend; compiled once per backend (see CMakeLists.txt). With nvcc the
// functions copy their arrays to the GPU and back. With the host compiler the same bodies run in a loop.
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/building_blocks/backend.hpp"
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/device.hpp"
#include "properties/algebra.hpp"

namespace assay::ASSAY_BACKEND {

// Runs one body per index over arrays in host memory. On the host this is a loop. On a GPU the arrays are
// copied to the device, the body runs in one launch, and the results are copied back. A CUDA error is thrown
// as std::runtime_error.

#if defined(__CUDACC__)

inline void must(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(e));
}

/// The arrays of one launch. Device memory is kept between launches, because allocating costs more than most
/// launches here. Not thread-safe.
class Arrays {
 public:
  Arrays() { must(cudaSetDevice(selected_device()), "selecting the device"); }

  template <class T>
  const T* in(const T* host, std::size_t n) {
    T* const device = room<T>(n);
    if (n > 0) must(cudaMemcpy(device, host, n * sizeof(T), cudaMemcpyHostToDevice), "copying to the device");
    return device;
  }
  /// An input array. It starts as `host`; the body may overwrite it; it is not copied back.
  template <class T>
  T* scratch(T* host, std::size_t n) {
    return const_cast<T*>(in(host, n));
  }
  template <class T>
  T* out(T* host, std::size_t n) {
    T* const device = room<T>(n);
    results_.push_back({host, device, n * sizeof(T)});
    return device;
  }
  /// Waits for the launch and copies the results back.
  void collect() {
    must(cudaGetLastError(), "launch");
    must(cudaDeviceSynchronize(), "kernel");
    for (const Result& r : results_)
      if (r.bytes > 0) must(cudaMemcpy(r.host, r.device, r.bytes, cudaMemcpyDeviceToHost), "copying back");
  }

 private:
  struct Buffer {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  struct Result {
    void* host;
    const void* device;
    std::size_t bytes;
  };

  /// One list of buffers for all types: arrays are identified by their number.
  Buffer& next() {
    static std::vector<Buffer> kept;
    if (used_ == kept.size()) kept.emplace_back();
    return kept[used_++];
  }

  template <class T>
  T* room(std::size_t n) {
    Buffer& b = next();
    if (const std::size_t bytes = n * sizeof(T); b.bytes < bytes) {
      must(cudaFree(b.data), "freeing device memory");
      b = {};
      must(cudaMalloc(&b.data, bytes), "allocating device memory");
      b.bytes = bytes;
    }
    return static_cast<T*>(b.data);
  }

  std::size_t used_ = 0;
  std::vector<Result> results_;
};

template <class Body>
__global__ void for_each_kernel(std::size_t n, Body body) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    body(i);
}
template <class Body>
void for_each(std::size_t n, Body body) {
  constexpr unsigned kThreads = 128;
  if (n == 0) return;
  const std::size_t blocks = (n + kThreads - 1) / kThreads;
  launch(for_each_kernel<Body>, static_cast<unsigned>(blocks < 65536 ? blocks : 65536), kThreads, 0, Stream{},
         n, body);
}

#else

class Arrays {
 public:
  template <class T>
  const T* in(const T* host, std::size_t) {
    return host;
  }
  template <class T>
  T* scratch(T* host, std::size_t) {
    return host;
  }
  template <class T>
  T* out(T* host, std::size_t) {
    return host;
  }
  void collect() {}
};

template <class Body>
void for_each(std::size_t n, Body body) {
  for (std::size_t i = 0; i < n; ++i) body(i);
}

#endif

/// The normalizer (m, d) kept in a 16-bit format: the select form of kernels/building_blocks/normalizer.cuh
/// with hexp, and every operation rounded to the format. No variant merges in 16 bits. The properties ask
/// what ⊕ would still promise if one did.
template <class H>
struct alignas(4) NarrowNormalizer {
  H m, d;
};

template <class H>
__device__ __forceinline__ NarrowNormalizer<H> narrow_identity() {
  return {from_float<H>(negative_infinity()), from_float<H>(0.0f)};
}

template <class H>
__device__ __forceinline__ NarrowNormalizer<H> narrow_leaf(H x) {
  if (__heq(x, from_float<H>(negative_infinity()))) return narrow_identity<H>();
  return {x, __hadd(from_float<H>(1.0f), __hsub(x, x))};
}

template <class H>
struct NarrowCombine {
  using T = NarrowNormalizer<H>;
  __device__ __forceinline__ static T neutral() { return narrow_identity<H>(); }
  __device__ __forceinline__ static T merge(T a, T b) {
    const bool a_high = __hgt(a.m, b.m) || __hisnan(a.m);
    const T high = a_high ? a : b;
    const T low = a_high ? b : a;
    if (__heq(low.m, from_float<H>(negative_infinity()))) return high;
    const H sum = __hadd(high.d, __hmul(low.d, hexp(__hsub(low.m, high.m))));
    return {high.m, __hadd(sum, __hsub(high.m, high.m))};
  }
};

template <class H>
__device__ __forceinline__ NarrowNormalizer<H> shuffle_xor(NarrowNormalizer<H> v, int lanes) {
  unsigned word;  // both halves are exchanged together
  memcpy(&word, &v, sizeof word);
  word = __shfl_xor_sync(kAllLanes, word, lanes);
  memcpy(&v, &word, sizeof v);
  return v;
}

namespace {

/// The two-exp form. Under contraction only one of the two products is rounded; the order of the operands
/// decides which.
template <class E>
struct Symmetric {
  using T = Normalizer;
  __device__ static Normalizer neutral() { return identity(); }
  __device__ static Normalizer merge(Normalizer a, Normalizer b) {
    const float m = fmaxf(a.m, b.m);
    if (m == negative_infinity()) return identity();
    return {m, a.d * E::of(a.m - m) + b.d * E::of(b.m - m)};
  }
};

/// A reduction R of reduce.cuh, with its exp and its conversion from and to a Pair.
template <class R, class E>
struct Wide {
  using Reduction = R;
  using T = Normalizer;
  __device__ static T inside(Pair p) { return {p.m, p.d}; }
  __device__ static Pair outside(T n) { return {n.m, n.d}; }
  __device__ static T leaf_of(float x) { return leaf(x); }
  __device__ static float exp_of(float t) { return E::of(t); }
};
template <class H>
struct Narrow {
  using Reduction = NarrowCombine<H>;
  using T = NarrowNormalizer<H>;
  __device__ static T inside(Pair p) { return {from_float<H>(p.m), from_float<H>(p.d)}; }
  __device__ static Pair outside(T n) { return {to_float(n.m), to_float(n.d)}; }
  __device__ static T leaf_of(float x) { return narrow_leaf(from_float<H>(x)); }
  __device__ static float exp_of(float t) { return to_float(hexp(from_float<H>(t))); }
};

template <class A>
struct LeafBody {
  const float* x;
  Pair* out;
  __device__ void operator()(std::size_t i) const { out[i] = A::outside(A::leaf_of(x[i])); }
};
template <class A>
struct ExpBody {
  const float* t;
  float* out;
  __device__ void operator()(std::size_t i) const { out[i] = A::exp_of(t[i]); }
};
template <class A>
struct CombineBody {
  const Pair *a, *b;
  Pair* out;
  __device__ void operator()(std::size_t i) const {
    out[i] = A::outside(A::Reduction::merge(A::inside(a[i]), A::inside(b[i])));
  }
};
/// One thread evaluates one tree.
template <class A>
struct TreeBody {
  const std::uint32_t* first;
  const Merge* merges;
  Pair* slots;  // the leaves, overwritten
  Pair* values;
  __device__ void operator()(std::size_t tree) const {
    Pair* const mine = slots + first[tree];
    for (std::size_t k = first[tree] - tree; k < first[tree + 1] - (tree + 1); ++k) {
      const Merge m = merges[k];
      mine[m.left] = A::outside(A::Reduction::merge(A::inside(mine[m.left]), A::inside(mine[m.right])));
      values[k] = mine[m.left];
    }
  }
};
template <class A>
struct OnesBody {
  std::uint32_t n;
  float* d;
  __device__ void operator()(std::size_t) const {
    typename A::T sum = A::leaf_of(3.0f);
    const typename A::T one = sum;
    for (std::uint32_t i = 1; i < n; ++i) sum = A::Reduction::merge(sum, one);
    *d = A::outside(sum).d;
  }
};

template <class A>
__global__ void butterfly_kernel(const Pair* lanes, Pair* results) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kLanes + threadIdx.x;
  results[i] = A::outside(warp_reduce<typename A::Reduction>(A::inside(lanes[i])));
}

template <class A>
constexpr Algebra algebra(const char* name, Dtype format, Exp exp) {
  return {name,
          kBackend,
          format,
          exp,
          [](const float* x, Pair* out, std::size_t n) {
            Arrays arrays;
            for_each(n, LeafBody<A>{arrays.in(x, n), arrays.out(out, n)});
            arrays.collect();
          },
          [](const Pair* a, const Pair* b, Pair* out, std::size_t n) {
            Arrays arrays;
            for_each(n, CombineBody<A>{arrays.in(a, n), arrays.in(b, n), arrays.out(out, n)});
            arrays.collect();
          },
          [](const float* t, float* out, std::size_t n) {
            Arrays arrays;
            for_each(n, ExpBody<A>{arrays.in(t, n), arrays.out(out, n)});
            arrays.collect();
          },
          [](const Pair* lanes, Pair* results, std::size_t warps) {
            Arrays arrays;
            launch(butterfly_kernel<A>, static_cast<unsigned>(warps), kLanes, 0, Stream{},
                   arrays.in(lanes, warps * kLanes), arrays.out(results, warps * kLanes));
            arrays.collect();
          },
          [](const Forest& f, Pair* values) {
            std::vector<Pair> slots = f.leaves;
            Arrays arrays;
            for_each(f.trees(), TreeBody<A>{arrays.in(f.first.data(), f.first.size()),
                                            arrays.in(f.merges.data(), f.merges.size()),
                                            arrays.scratch(slots.data(), slots.size()),
                                            arrays.out(values, f.merges.size())});
            arrays.collect();
          },
          [](std::uint32_t n) {
            float d;
            Arrays arrays;
            for_each(1, OnesBody<A>{n, arrays.out(&d, 1)});
            arrays.collect();
            return d;
          }};
}

}  // namespace

constinit const Algebra accurate =
    algebra<Wide<Combine<AccurateExp>, AccurateExp>>("accurate", Dtype::f32, Exp::accurate);
constinit const Algebra fast = algebra<Wide<Combine<FastExp>, FastExp>>("fast", Dtype::f32, Exp::fast);
constinit const Algebra narrow_f16 = algebra<Narrow<f16>>("f16", Dtype::f16, Exp::half);
constinit const Algebra narrow_bf16 = algebra<Narrow<bf16>>("bf16", Dtype::bf16, Exp::half);
constinit const Algebra symmetric =
    algebra<Wide<Symmetric<AccurateExp>, AccurateExp>>("symmetric", Dtype::f32, Exp::accurate);

}  // namespace assay::ASSAY_BACKEND

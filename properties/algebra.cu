// SPDX-License-Identifier: Apache-2.0
// ⊕ with the compiler flags of each backend; compiled once per backend (see CMakeLists.txt). With nvcc the
// functions copy their arrays to the GPU and back. With the host compiler the same bodies run in a loop.
#include "kernels/building_blocks/reduce.cuh"
#include "properties/algebra.hpp"
#include "properties/array_launch.cuh"
#include "properties/narrow_normalizer.cuh"

namespace assay::ASSAY_BACKEND {
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

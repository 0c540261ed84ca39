// ⊕ as this build's flags compile it. Compiled once per host backend (see CMakeLists.txt).
#include "properties/algebra.hpp"

#include "kernels/reduce.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

Normalizer inside(Pair p) { return {p.m, p.d}; }
Pair outside(Normalizer n) { return {n.m, n.d}; }

/// The two-exp form. Under contraction only one of the two products is rounded, and which one depends on
/// the order of the operands.
template <class E>
struct Symmetric {
  using T = Normalizer;
  static Normalizer neutral() { return identity(); }
  static Normalizer merge(Normalizer a, Normalizer b) {
    const float m = fmaxf(a.m, b.m);
    if (m == negative_infinity()) return identity();
    return {m, a.d * E::of(a.m - m) + b.d * E::of(b.m - m)};
  }
};

template <class R>
__global__ void butterfly_kernel(const Normalizer* lanes, Normalizer* results) {
  results[threadIdx.x] = warp_reduce<R>(lanes[threadIdx.x]);
}

template <class R>
void butterfly(const Pair* lanes, Pair* results) {
  Normalizer in[kLanes], out[kLanes];
  for (int i = 0; i < kLanes; ++i) in[i] = inside(lanes[i]);
  launch(butterfly_kernel<R>, 1, kLanes, 0, Stream{}, in, out);
  for (int i = 0; i < kLanes; ++i) results[i] = outside(out[i]);
}

template <class R, class E>
constexpr Algebra algebra(const char* name, Exp exp) {
  return {name,
          kBackend,
          exp,
          {-std::numeric_limits<float>::infinity(), 0.0f},
          [](float x) { return outside(leaf(x)); },
          [](Pair a, Pair b) { return outside(R::merge(inside(a), inside(b))); },
          [](float t) { return E::of(t); },
          butterfly<R>};
}

template <class T>
double sticks_at() {
  const T one = from_float<T>(1.0f);
  T sum = from_float<T>(0.0f);
  for (T next = sum + one; to_float(next) != to_float(sum); next = sum + one) sum = next;
  return static_cast<double>(to_float(sum));
}

}  // namespace

constinit const Algebra accurate = algebra<Combine<AccurateExp>, AccurateExp>("accurate", Exp::accurate);
constinit const Algebra fast = algebra<Combine<FastExp>, FastExp>("fast", Exp::fast);
constinit const Algebra symmetric = algebra<Symmetric<AccurateExp>, AccurateExp>("symmetric", Exp::accurate);

double sum_of_ones_sticks_at(Dtype format) {
  return format == Dtype::f16    ? sticks_at<f16>()
         : format == Dtype::bf16 ? sticks_at<bf16>()
                                 : sticks_at<f32>();
}

}  // namespace assay::ASSAY_BACKEND

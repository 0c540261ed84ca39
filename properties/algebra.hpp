// The kernels' ⊕ behind function pointers. The operator is compiled once per host backend (algebra.cpp); the
// properties are compiled once, know no compiler flag, and hold or fail for each algebra alike.
#pragma once

#include <cmath>
#include <iosfwd>

#include "kernels/registry.hpp"

namespace assay {

/// A normalizer outside any backend. The carrier of ⊕: m = -inf implies d = 0.
struct Pair {
  float m = 0, d = 0;
};
void showValue(const Pair& p, std::ostream& os);

inline constexpr int kLanes = 32;

struct Algebra {
  const char* name;
  Backend backend;
  Exp exp;
  Pair identity;
  Pair (*leaf)(float x);
  Pair (*combine)(Pair a, Pair b);
  float (*exp_of)(float t);
  /// What every lane of a warp holds after its butterfly reduction.
  void (*butterfly)(const Pair* lanes, Pair* results);
};

// `accurate` and `fast` are the kernels' select form. `symmetric` is the textbook's d_a e_a + d_b e_b,
// which no kernel uses: it is here to show why.
namespace host {
extern const Algebra accurate, fast, symmetric;
/// Where a serial sum of ones in the format stops growing.
double sum_of_ones_sticks_at(Dtype format);
}  // namespace host
namespace host_fma {
extern const Algebra accurate, fast, symmetric;
double sum_of_ones_sticks_at(Dtype format);
}  // namespace host_fma

inline bool is_identity(Pair p) { return std::isinf(p.m) && p.m < 0; }
/// Equal bits, or both NaN.
bool same(float a, float b);
/// m by value (+0 = -0), d bit for bit; NaN by class in both.
inline bool same(Pair a, Pair b) {
  return (a.m == b.m || (std::isnan(a.m) && std::isnan(b.m))) && same(a.d, b.d);
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Compiled twice: ASSAY_CPU is generic or avx2 (see CMakeLists.txt). Contraction is off: an FMA is used only
// where fast_exp.hpp writes one, and the operations of double-double sums must not be reordered.
#include "reference/oracle/fast_row.hpp"

namespace assay::fast::ASSAY_CPU {
namespace {

constexpr std::size_t kLanes = 8;
typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double))));

/// x - m as a rounded difference d and the rounding error `lost` (Knuth's two-sum, exact).
inline void difference(double x, double m, double& d, double& lost) {
  d = x - m;
  const double back = d - x;
  lost = (x - (d - back)) + (-m - back);
}

RowSums exps(const double* x, std::size_t n, double m, std::size_t skip, double* e) {
  std::int64_t far = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double d, lost;
    difference(x[i], m, d, lost);
    const bool near = d >= kExpLowest;
    const double v = exp(near ? d : 0, near ? lost : 0);
    e[i] = near ? v : 0;
    far += !near && x[i] >= -0x1.fffffffffffffp1023;
  }
  const double kept = e[skip];
  e[skip] = 0;

  // Eight partial sums. The exact error of every addition is collected in `lo`.
  Lanes hi{}, lo{}, weighted{};
  const Lanes lowest = Lanes{} + kExpLowest;
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Lanes v, d;
    __builtin_memcpy(&v, e + i, sizeof v);
    __builtin_memcpy(&d, x + i, sizeof d);
    d -= m;
    d = d > lowest ? d : lowest;
    const Lanes t = hi + v;
    const Lanes z = t - hi;
    lo += (hi - (t - z)) + (v - z);
    hi = t;
    weighted -= v * d;
  }
  RowSums s;
  s.far = far;
  const auto add = [&s](double v) {
    const double t = s.hi + v;
    const double z = t - s.hi;
    s.lo += (s.hi - (t - z)) + (v - z);
    s.hi = t;
  };
  for (std::size_t l = 0; l < kLanes; ++l) {
    add(hi[l]);
    s.lo += lo[l];
    s.weighted += weighted[l];
  }
  for (; i < n; ++i) {
    add(e[i]);
    s.weighted -= e[i] * (x[i] - m > kExpLowest ? x[i] - m : kExpLowest);
  }
  e[skip] = kept;
  return s;
}

void probabilities(const double* e, std::size_t n, double s, double* lo, double* hi) {
  const double inverse = 1 / s;
  for (std::size_t i = 0; i < n; ++i) {
    const double p = e[i] * inverse;
    const double above = fma(p, kProbError, p);
    const bool small = p < kSmallest;
    lo[i] = small ? 0 : fma(p, -kProbError, p);
    hi[i] = small ? 2 * kSmallest : (above < 1 ? above : 1);
  }
}

}  // namespace

const RowKernel kernel = {exps, probabilities};

}  // namespace assay::fast::ASSAY_CPU

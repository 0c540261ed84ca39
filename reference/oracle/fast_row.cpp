// SPDX-License-Identifier: Apache-2.0
#include "reference/oracle/fast_row.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "reference/mpfr_value.hpp"
#include "reference/oracle/oracle_exp.hpp"

namespace assay {
namespace fast {

const RowKernel& row_kernel() {
  static const RowKernel& best =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? avx2::kernel : generic::kernel;
  return best;
}

RowSums exps(const double* x, std::size_t n, double m, std::size_t skip, double* e) {
  return row_kernel().exps(x, n, m, skip, e);
}
void probabilities(const double* e, std::size_t n, double s, double* lo, double* hi) {
  row_kernel().probabilities(e, n, s, lo, hi);
}

}  // namespace fast

namespace {

/// Relative error of s and of s - 1: 1.375 2^-53 per term; the double-double sum (below 2^-58 for
/// kMostTerms); its rounding to double, and that of 1 + rest; two roundings of the ends. Together 5.5 2^-53.
constexpr double kSumError = 0x1.8p-51;

/// Bits of the value nearest to v in `out`, ties to even.
std::uint64_t round_double(Dtype out, double v) {
  return out == Dtype::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(v)) : encode(out, v);
}

}  // namespace

bool solve_row_fast(RowTruth& row, Dtype out) {
  free_mpfr_cache_at_thread_exit();
  const std::size_t n = row.x.size();
  const auto first = static_cast<std::size_t>(row.argmax);
  thread_local std::vector<double> e;
  e.resize(n);
  const fast::RowSums sums = fast::exps(row.x.data(), n, row.m, first, e.data());
  const double rest = sums.hi + sums.lo;
  const double s = 1 + rest;
  // Terms too small to be summed only raise the upper ends.
  const double far = static_cast<double>(sums.far) * 0x1p-1021;
  const double rest_lo = rest * (1 - kSumError), rest_hi = rest * (1 + kSumError) + far;
  row.s = {s * (1 - kSumError), s * (1 + kSumError) + far};
  row.s.lo = std::max(row.s.lo, 1.0);
  row.weighted_distance = sums.weighted / s;

  MpfrValue lo(80), hi(80);
  mpfr_set_d(lo, rest_lo, MPFR_RNDD);
  mpfr_set_d(hi, rest_hi, MPFR_RNDU);
  mpfr_log1p(lo, lo, MPFR_RNDD);
  mpfr_log1p(hi, hi, MPFR_RNDU);
  mpfr_add_d(lo, lo, row.m, MPFR_RNDD);
  mpfr_add_d(hi, hi, row.m, MPFR_RNDU);
  row.lse = {down(lo), up(hi)};
  row.lse_rounded = round_bits(out, lo);
  bool decided = row.lse_rounded == round_bits(out, hi);

  fast::probabilities(e.data(), n, s, row.lo.data(), row.hi.data());
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isinf(row.d[i])) {
      row.lo[i] = row.hi[i] = 0;
      row.rounded[i] = 0;
      continue;
    }
    row.rounded[i] = round_double(out, row.lo[i]);
    decided &= row.rounded[i] == round_double(out, row.hi[i]);
  }
  return decided;
}

void refine(RowTruth& row, std::size_t j) {
  free_mpfr_cache_at_thread_exit();
  if (row.x[j] - row.m < kCut) return;
  MpfrValue e(kTablePrecision), radius(kTablePrecision), lo(kTablePrecision), hi(kTablePrecision);
  exp_difference(e, row.x[j], row.m);
  mpfr_mul_2si(radius, e, 15 - static_cast<long>(kTablePrecision), MPFR_RNDU);
  mpfr_sub(lo, e, radius, MPFR_RNDD);
  mpfr_add(hi, e, radius, MPFR_RNDU);
  mpfr_div_d(lo, lo, row.s.hi, MPFR_RNDD);
  mpfr_div_d(hi, hi, row.s.lo, MPFR_RNDU);
  row.lo[j] = std::max(row.lo[j], down(lo));
  row.hi[j] = std::min(row.hi[j], up(hi));
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "accuracy/bounds/divisor.hpp"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

/// Covers the few double operations that compute a number here, each off by 2^-53, or an exp's 2^-52.
constexpr double kWide = 0x1p-49;

Enclosure widened(double lo, double hi) { return {lo * (1 - kWide), hi * (1 + kWide)}; }

}  // namespace

double anchor_of(const RowTruth& row, const RoundedShift& shift) {
  return row.argmax >= 0 ? shift.f[static_cast<std::size_t>(row.argmax)] : 0;
}

double relative_epsilon(const Terms& t, double anchor) {
  return t.epsilon > 0 ? t.epsilon * std::exp(-anchor) : 0;
}

RowTruth with_epsilon(const RowTruth& row, const Terms& t, const RoundedShift& shift) {
  RowTruth r = row;
  const double more = relative_epsilon(t, anchor_of(row, shift));
  r.s = widened(row.s.lo + more, row.s.hi + more);
  // s / (s + more) increases with s.
  const Enclosure kept = widened(row.s.lo / (row.s.lo + more), row.s.hi / (row.s.hi + more));
  for (std::size_t i = 0; i < r.lo.size(); ++i) {
    r.lo[i] *= kept.lo;
    r.hi[i] *= kept.hi;
  }
  // ln(s + more) = ln s + ln(1 + more / s); the second term decreases with s.
  const double size = std::max(std::fabs(row.lse.lo), std::fabs(row.lse.hi));
  const Enclosure added = widened(std::log1p(more / row.s.hi), std::log1p(more / row.s.lo));
  const double rounding = 0x1p-51 * (size + added.hi);
  r.lse = {row.lse.lo + added.lo - rounding, row.lse.hi + added.hi + rounding};
  r.rounded.clear();
  return r;
}

StoredNumerator stored_numerator(const Terms& t, double f, double slack) {
  const double eps = t.eps(f) + slack, exact = std::exp(f);
  const auto to_type = [&](double x) { return round_to(t.numerators, std::max(0.0, x)); };
  const double hi = to_type(exact * std::exp(eps) * (1 + kWide) + t.eta);
  const double lo = to_type(exact * std::exp(-eps) * (1 - kWide) - t.eta);
  if (lo < min_normal(t.numerators)) return {eps, std::max(hi - exact, exact - lo) + kWide * exact};
  return {std::max({eps, std::log(hi / exact), std::log(exact / lo)}) + kWide, 0};
}

}  // namespace assay

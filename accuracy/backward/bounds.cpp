// SPDX-License-Identifier: Apache-2.0
#include "accuracy/backward/bounds.hpp"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

/// Covers the evaluation of a bound in double.
constexpr double kInflateBackward = 1 + 0x1p-24;

}  // namespace

double BackwardBounds::element(const BackwardRow& r, std::size_t i) const {
  return (own[i] + std::fabs(r.y[i]) * sum) * kInflateBackward;
}

BackwardBounds backward_bounds(const Terms& t, const BackwardRow& row) {
  BackwardBounds b;
  const auto n = static_cast<double>(row.y.size());
  const double u = t.u, half = 0.5 * min_subnormal(t.arithmetic), flush = t.flush;
  const double grow = std::expm1((t.h + 1) * std::log1p(u));
  // Every product may underflow. If results are flushed, every addition may too, and a subnormal y or dy may
  // be read as 0.
  b.sum = (grow * row.absolute + (1 + grow) * n * (half + (4 + row.largest) * flush)) * kInflateBackward;
  const double s = std::max(std::fabs(row.s.lo), std::fabs(row.s.hi)), most = s + b.sum;
  b.own.resize(row.y.size());
  for (std::size_t i = 0; i < row.y.size(); ++i) {
    const double y = std::fabs(row.y[i]), x = std::max(std::fabs(row.x[i].lo), std::fabs(row.x[i].hi));
    const double products = u * (1 + u) * y * (std::fabs(row.dy[i]) + most);
    b.own[i] = (products + u * (x + y * b.sum) + 2 * (1 + u) * half +
                (5 + 2 * y + std::fabs(row.dy[i]) + most) * flush) *
               kInflateBackward;
  }
  return b;
}

std::string outside_backward(const Claim& claim, const BackwardRow& row) {
  if (claim.internals != Internals::f32)
    return "16-bit arithmetic: no bound of a backward pass is claimed for it";
  if (4 * (row.absolute + row.largest) >= max_finite(Dtype::f32)) return "a sum of y dy may overflow";
  return {};
}

Enclosure before_rounding(const Terms& t, Dtype out, double g) {
  if (!t.narrows || !std::isfinite(g)) return {g, g};
  const RoundsTo all = rounds_to(out, std::fabs(g));
  if (g == 0) return {-all.hi, all.hi};
  return g < 0 ? Enclosure{-all.hi, -all.lo} : Enclosure{all.lo, all.hi};
}

ImpliedSum implied_sum(const Terms& t, Dtype out, const BackwardRow& row, const BackwardBounds& b,
                       std::size_t i, double g) {
  const Enclosure v = before_rounding(t, out, g);
  const double y = std::fabs(row.y[i]), sign = row.y[i] < 0 ? -1 : 1;
  const double middle = 0.5 * (v.lo + v.hi), reach = 0.5 * (v.hi - v.lo);
  const double quotient = sign * middle / y;
  const double evaluation = 0x1p-50 * (std::fabs(row.dy[i]) + std::fabs(quotient));
  return {row.dy[i] - quotient, ((reach + b.own[i]) / y + evaluation) * kInflateBackward};
}

}  // namespace assay

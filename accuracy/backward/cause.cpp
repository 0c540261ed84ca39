// SPDX-License-Identifier: Apache-2.0
// The usual mistakes of a backward pass, found from the sum that its outputs imply. They only give words to a
// failure; no verdict depends on them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "accuracy/backward/judge.hpp"

namespace assay {

std::string cause_of_sum(const BackwardRow& row, double lo, double hi, std::span<const NamedSum> other_sums) {
  const double s = 0.5 * (row.s.lo + row.s.hi);
  // The implied sum is an interval as wide as a few roundings. A sum that is rounded differently lies close
  // to it.
  const double room = 4 * (hi - lo) + 0x1p-20 * row.absolute;
  const auto is = [&](double other) {
    return other >= lo - room && other <= hi + room && std::fabs(other - s) > 2 * room;
  };
  if (is(-s)) return "the sum has the wrong sign";
  if (is(0)) return "no sum was subtracted";
  if (row.y.size() > 1 && is(s - row.y.back() * row.dy.back())) return "the sum lacks the last column";
  for (const NamedSum& o : other_sums)
    if (is(o.s)) return fmt::format("it is the sum of {}", o.name);
  double dy = 0;
  for (const double g : row.dy) dy += g;
  if (is(dy)) return "it is the sum of dy alone";
  if (is(s / static_cast<double>(row.y.size()))) return "it is a mean, not a sum";
  for (std::size_t j = 0; j < row.y.size(); ++j)
    if (is(s - row.y[j] * row.dy[j])) return fmt::format("it lacks no more than column {}", j);
  return {};
}

std::string cause_of_outputs(const BackwardContext& c, std::span<const double> values) {
  const BackwardRow& r = c.row;
  const double s = 0.5 * (r.s.lo + r.s.hi);
  const double u = std::max(unit_roundoff(c.out), 0x1p-20);
  const auto all = [&](auto formula) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double scale = (1 + std::fabs(r.y[i])) * (std::fabs(r.dy[i]) + std::fabs(s) + r.absolute);
      if (!(std::fabs(values[i] - formula(i)) <= 8 * u * scale)) return false;
    }
    return true;
  };
  if (all([&](std::size_t i) { return r.dy[i] * (r.y[i] - s); })) return "y and dy are swapped";
  if (all([&](std::size_t i) { return r.dy[i] - s; })) return "y is missing as a factor";
  if (all([&](std::size_t i) { return r.dy[i] - r.y[i] * s; })) return "y is missing as a factor of dy";
  if (all([&](std::size_t) { return 0.0; })) return "every output is 0";
  return {};
}

}  // namespace assay

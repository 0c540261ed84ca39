// SPDX-License-Identifier: Apache-2.0
// Bounds of a backward pass, dx = y (dy - s) with s = sum y dy. BACKWARD.md derives them with the same
// symbols.
#pragma once

#include <string>

#include "accuracy/backward/case.hpp"
#include "accuracy/bounds/bounds.hpp"

namespace assay {

struct BackwardBounds {
  double sum = 0;           // B: bound of |s^ - s|
  std::vector<double> own;  // E: error of an element given s^, before rounding to a narrower output
  double element(const BackwardRow& r, std::size_t i) const;  // E + |y| B: bound of |dx^ - dx|
};
BackwardBounds backward_bounds(const Terms& t, const BackwardRow& row);

/// Empty, or why nothing is claimed for the row.
std::string outside_backward(const Claim& claim, const BackwardRow& row);

/// The sums s^ from which one output may have been computed: middle - reach to middle + reach.
struct ImpliedSum {
  double middle = 0, reach = 0;
  double lo() const { return middle - reach; }
  double hi() const { return middle + reach; }
};
/// The implied sum of element i, whose output is g. y must not be 0, and g must be finite.
ImpliedSum implied_sum(const Terms& t, Dtype out, const BackwardRow& row, const BackwardBounds& b,
                       std::size_t i, double g);

/// The numbers that round to g: g alone if the output is as wide as the arithmetic.
Enclosure before_rounding(const Terms& t, Dtype out, double g);

}  // namespace assay

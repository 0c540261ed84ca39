// Bounds of a backward pass, dx = y (dy - s) with s = sum y dy; BACKWARD.md derives them. The symbols are the
// same.
#pragma once

#include <string>

#include "accuracy/backward/case.hpp"
#include "accuracy/bounds/bounds.hpp"

namespace assay {

struct BackwardBounds {
  double sum = 0;           // B: of |s^ - s|
  std::vector<double> own;  // E: of an element given s^, before the rounding to a narrower output
  double element(const BackwardRow& r, std::size_t i) const;  // E + |y| B: of |dx^ - dx|
};
BackwardBounds backward_bounds(const Terms& t, const BackwardRow& row);

/// Empty, or why nothing is claimed of the row.
std::string outside_backward(const Claim& claim, const BackwardRow& row);

/// The sums s^ that one output may have been computed with, as a middle and a reach to either side.
struct ImpliedSum {
  double middle = 0, reach = 0;
  double lo() const { return middle - reach; }
  double hi() const { return middle + reach; }
};
/// Of element i, which came back as g, with y not 0 and g finite.
ImpliedSum implied_sum(const Terms& t, Dtype out, const BackwardRow& row, const BackwardBounds& b,
                       std::size_t i, double g);

/// The numbers that may have been rounded to g: g alone where the output is as wide as the arithmetic.
Enclosure before_rounding(const Terms& t, Dtype out, double g);

}  // namespace assay

// What a variant may write for a row, as intervals: the exact value with the bound of the variant's own class
// around it. Two launches that have one exact value in common may differ by both bounds and no more.
#pragma once

#include <string>
#include <vector>

#include "accuracy/bounds/bounds.hpp"
#include "properties/float_generators.hpp"
#include "properties/variants/variant_run.hpp"

namespace assay {

/// Closed; a value in it is what a right kernel may give.
struct Interval {
  double lo = 0, hi = 0;
  bool contains(double g) const { return lo <= g && g <= hi; }  // NaN is nowhere
};

/// A row with a finite maximum, as one key may answer it.
struct RowLimits {
  std::string outside;  // why the row is outside the key's domain; then the rest is empty
  RowTruth truth;
  Terms terms;
  RoundedShift shift;
  RowBounds bounds;
  std::vector<Interval> value;  // of every column: probability or log-probability; of lse, one
};
RowLimits limits_of(const Variant& variant, Op op, const Row& row);

/// Whether g and h, each of its own interval around the same exact value, are no further apart than both
/// bounds.
bool agree(double g, const Interval& of_g, double h, const Interval& of_h);

/// Empty, or the first column of a launch's row that left its interval. For ops that select, the columns are
/// those it chose.
std::string outside_limits(const Answer& answer, std::int64_t row, const RowLimits& limits);

}  // namespace assay

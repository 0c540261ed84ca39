// SPDX-License-Identifier: Apache-2.0
// What a variant may write for a row, as intervals: the exact value, plus and minus the bound of the
// variant's class. Two launches with the same exact value may differ by the sum of both bounds, not more.
#pragma once

#include <string>
#include <vector>

#include "accuracy/bounds/bounds.hpp"
#include "properties/float_generators.hpp"
#include "properties/variants/variant_run.hpp"

namespace assay {

/// A closed interval of the values that a right kernel may give.
struct Interval {
  double lo = 0, hi = 0;
  bool contains(double g) const { return lo <= g && g <= hi; }  // NaN is in no interval
};

/// The limits of one registry key on a row with a finite maximum.
struct RowLimits {
  std::string outside;  // why the row is outside the key's domain; if set, the rest is empty
  RowTruth truth;
  Terms terms;
  RoundedShift shift;
  RowBounds bounds;
  std::vector<Interval> value;  // per column: probability or log-probability; for lse one entry
};
/// `pick`: of op topk_softmax, whose values depend on it.
RowLimits limits_of(const Variant& variant, Op op, const Row& row, const Pick& pick = {});

/// True if g and h, from intervals around the same exact value, differ by at most the sum of both bounds.
bool agree(double g, const Interval& of_g, double h, const Interval& of_h);

/// Empty, or the first column of a launch's row that is outside its interval. For ops that select, the
/// columns are those that the launch chose.
std::string outside_limits(const Answer& answer, std::int64_t row, const RowLimits& limits);

}  // namespace assay

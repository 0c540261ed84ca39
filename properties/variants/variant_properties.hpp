// SPDX-License-Identifier: Apache-2.0
// What every variant promises, as properties of a registry key. Its outputs stay within its bound, and
// related inputs give related outputs, bit for bit or within both bounds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/bounds/bounds.hpp"
#include "kernels/candidate.hpp"
#include "properties/float_generators.hpp"
#include "properties/property.hpp"
#include "reference/tensor.hpp"

namespace assay {

/// One launch of a variant on rows of one length, and what it wrote. Properties compare these.
struct VariantRunOptions {
  Pick pick = {};
  std::int64_t gap = 0;  // gap between rows, in elements, in input and output
  LaunchOptions launch = {};
};

struct Answer {
  Problem problem;
  std::vector<std::uint64_t> bits;    // rows x out_columns
  std::vector<std::int64_t> indices;  // rows x k
  std::vector<float> m, d;            // one per row; empty if the op has none

  std::uint64_t bits_at(std::int64_t row, std::int64_t j) const {
    return bits[static_cast<std::size_t>(row * problem.out_columns() + j)];
  }
  double value(std::int64_t row, std::int64_t j) const { return decode(problem.out, bits_at(row, j)); }
  std::int64_t index(std::int64_t row, std::int64_t r) const {
    return indices[static_cast<std::size_t>(row * problem.k + r)];
  }
};

/// Outputs start as NaN, indices as an invalid number. Throws std::runtime_error with the text of the
/// executor or CUDA.
Answer run(const Variant& variant, Op op, const Tensor& logits, const VariantRunOptions& options = {});

/// True if two launches wrote the same for these rows: equal bits, any NaN equal to any NaN.
bool same_row(const Answer& a, std::int64_t row_of_a, const Answer& b, std::int64_t row_of_b);

/// A tensor of rows of one length and format.
Tensor tensor_of(const std::vector<Row>& rows);

// What a variant may write for a row, as intervals: the exact value, plus and minus the bound of the
// variant's class. Two launches with the same exact value may differ by the sum of both bounds, not more.

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

struct VariantProperty {
  const char* name;
  bool (*applies)(const Variant& variant);
  /// One random case; fails through RC_ASSERT or RC_FAIL.
  void (*check)(const Variant& variant);
  int cases;  // per key
  std::vector<std::string> must_appear;
};

/// All properties, from the files beside this one.
const std::vector<VariantProperty>& variant_properties();
std::vector<VariantProperty> value_properties();       // one row: bound, order, sum, counts, special values
std::vector<VariantProperty> invariance_properties();  // a row and a changed one: shift, order, -inf, split
std::vector<VariantProperty> batch_properties();       // a row among others, in place, under other schedules
std::vector<VariantProperty> topk_properties();        // selection
std::vector<VariantProperty> set_properties();         // min_p, top_p

/// Draws the key together with the case, so the coverage is over all keys. Every key must appear.
Outcome outcome_of(const VariantProperty& property, const std::vector<const Variant*>& keys,
                   const std::string& subject, bool shrink = true);

// Shared by the properties.

bool is_finite_or_masked(const Row& row);
/// Mostly up to 200 logits; 1 row in 12 has up to 2100.
rc::Gen<Row> variant_rows(std::vector<Structure> structures, Dtype format);
/// The largest k that the variant takes on this row; 0 for ops without k.
int largest_k(const Variant& variant, const Row& row);
/// A random threshold for a variant that has one, and draw_k for others.
Pick draw_pick(const Variant& variant, const Row& row);
/// A random k for this variant: small, its largest, or more than the row has. 0 for ops without k.
int draw_k(const Variant& variant, const Row& row);
bool any_variant(const Variant& variant);

}  // namespace assay

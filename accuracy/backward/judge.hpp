// SPDX-License-Identifier: Apache-2.0
// Judges one row of a backward pass: every dx is within its bound, all of them were computed with the same
// sum, and that sum is near the exact one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/checks.hpp"
#include "accuracy/judge/row_judge.hpp"
#include "reference/oracle/oracle.hpp"
#include "reference/tensor.hpp"

namespace assay {

/// Rows of a backward pass: y, the softmax of logits; dy, the gradient that belongs to it; and the exact dx =
/// y (dy - sum y dy).
struct BackwardInputs {
  Tensor y, dy;
};

/// y is the correctly rounded softmax of every row of logits; NaN where its policy says NaN. dy is drawn from
/// the bits of the row, so that equal rows have equal gradients wherever they stand. Most dy are N(0, 1).
/// Others are one constant (dx vanishes by cancellation), mix huge and tiny values, or are 0 except in one
/// place. Some y are one-hot.
BackwardInputs backward_inputs(const Tensor& logits, const std::vector<RowTruth>& truth);

/// One row with its exact results; every product of them is exact in double.
struct BackwardRow {
  bool nan = false;      // y or dy holds a NaN
  bool special = false;  // y or dy holds a NaN or an infinity; then only y and dy are filled
  std::vector<double> y, dy;
  Enclosure s;               // sum y dy
  double absolute = 0;       // at least sum |y dy|
  double largest = 0;        // largest |dy|
  std::vector<Enclosure> x;  // dx
};
BackwardRow backward_row(const Tensor& y, const Tensor& dy, std::int64_t row);

/// Bounds of a backward pass, dx = y (dy - s) with s = sum y dy. BACKWARD.md derives them with the same
/// symbols.
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

struct BackwardContext {
  const Terms& terms;
  Dtype out;
  std::int64_t number;  // number of the row in its case
  const BackwardRow& row;
  Tally& tally;
  ErrorStatistics& statistics;
  ErrorProfile* profile = nullptr;
};

struct NamedSum {
  std::string name;
  double s;
};
/// The sums of the neighbouring rows; asked for only if a sum is wrong.
using OtherSums = std::function<std::vector<NamedSum>()>;
/// Judges a row without NaN and infinity.
void judge_backward(const BackwardContext& c, std::span<const double> values,
                    std::span<const std::uint64_t> bits, const OtherSums& other_sums);

/// Judges a row with a NaN or an infinity in y or dy: with a NaN every output must be NaN, with an infinity
/// none may be finite.
void judge_special_backward(const BackwardContext& c, std::span<const double> values);

/// The known mistake that explains outputs computed with a sum from `lo` to `hi`: "the sum without column 7";
/// or empty.
std::string cause_of_sum(const BackwardRow& row, double lo, double hi, std::span<const NamedSum> other_sums);
/// The known mistake that explains the outputs themselves: "y and dy are swapped"; or empty.
std::string cause_of_outputs(const BackwardContext& c, std::span<const double> values);

}  // namespace assay

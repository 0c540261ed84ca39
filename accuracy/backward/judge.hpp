// SPDX-License-Identifier: Apache-2.0
// Judges one row of a backward pass: every dx is within its bound, all of them were computed with the same
// sum, and that sum is near the exact one.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "accuracy/backward/bounds.hpp"
#include "accuracy/checks.hpp"
#include "accuracy/judge/row_judge.hpp"

namespace assay {

struct BackwardContext {
  const Terms& terms;
  Dtype out;
  std::int64_t number;  // number of the row in its case
  const BackwardRow& row;
  Tally& tally;
  ErrorStatistics& statistics;
  ElementObserver* observer = nullptr;
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

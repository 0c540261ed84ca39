// Judges one row of a backward pass: every dx within its bound, all of them computed with one sum, and that
// sum near the exact one.
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
  std::int64_t number;  // of the row in its case
  const BackwardRow& row;
  Tally& tally;
  ErrorStatistics& statistics;
  ElementObserver* observer = nullptr;
};

struct NamedSum {
  std::string name;
  double s;
};
/// The sums of the rows beside it, asked for where a sum is wrong.
using OtherSums = std::function<std::vector<NamedSum>()>;
/// A row of numbers.
void judge_backward(const BackwardContext& c, std::span<const double> values,
                    std::span<const std::uint64_t> bits, const OtherSums& other_sums);

/// A row with a NaN or an infinity in y or dy: NaN makes every output NaN, an infinity leaves none finite.
void judge_special_backward(const BackwardContext& c, std::span<const double> values);

/// Which known mistake explains that a row's outputs were computed with a sum from `lo` to `hi`: "the sum
/// without column 7", or empty.
std::string cause_of_sum(const BackwardRow& row, double lo, double hi, std::span<const NamedSum> other_sums);
/// Which known mistake explains the outputs themselves: "y and dy are swapped", or empty.
std::string cause_of_outputs(const BackwardContext& c, std::span<const double> values);

}  // namespace assay

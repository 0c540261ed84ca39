// SPDX-License-Identifier: Apache-2.0
// What onepass is to reach (set for an H200), and what a run shows: the only home of these goals.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "reports/sweep_page/context.hpp"

namespace assay::speed {

/// One line of the table, plain text.
struct GoalLine {
  std::string shapes, dtypes, goal, result, peer, reached;
};
inline constexpr std::array<const char*, 6> kGoalHeadings = {
    "shapes", "dtypes", "goal", "result, lowest to highest", "best right peer of each shape", "reached at"};

/// Empty if no onepass kernel was timed on a GPU.
std::vector<GoalLine> goal_lines(const Context& c);

// What it costs that a row's outputs do not depend on the batch: onepass_invariant beside onepass_fast.

/// One number of rows and one dtype, over all V that both were timed at.
struct InvarianceLine {
  std::int64_t rows = 0;
  std::string dtype;
  std::string lengths;  // "12 V from 32 to 262,144"
  struct Factor {
    double factor = 0;  // time of onepass_invariant over that of onepass_fast
    std::int64_t V = 0;
  };
  Factor least, most;
  double geometric_mean = 0;

  std::string least_and_most() const;
  std::string mean() const;
};
inline constexpr std::array<const char*, 5> kInvarianceHeadings = {
    "rows", "dtype", "lengths", "its time over onepass_fast's, least and most", "geometric mean"};

/// Empty if onepass_invariant was not timed.
std::vector<InvarianceLine> invariance_lines(const Context& c);

}  // namespace assay::speed

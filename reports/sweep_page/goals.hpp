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

}  // namespace assay::speed

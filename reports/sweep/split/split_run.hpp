// SPDX-License-Identifier: Apache-2.0
// Times rows split over GPUs, each way that was asked for, beside what each GPU takes alone for its slice and
// beside its copy. Every output is judged before and after the timing.
#pragma once

#include <functional>
#include <vector>

#include "reports/sweep/data/split_record.hpp"
#include "reports/sweep/split/split_rig.hpp"

namespace assay {

struct SplitRun {
  SplitShape shape;
  /// A chunk of 0 rows: as many as the rig says.
  std::vector<SplitWays> ways;
  std::string family = "normal_1";
  std::uint64_t seed = 1;
};

/// The record of one way before it runs.
SplitRecord blank_split_record(const SplitRun& run, const SplitWays& ways);

/// One record for each way, handed to `done` as soon as it is made. Throws InputError for a family without
/// such rows, and std::runtime_error if a GPU fails where nothing can be timed.
std::vector<SplitRecord> run_split(const SplitRun& run, const std::function<void(const SplitRecord&)>& done);

}  // namespace assay

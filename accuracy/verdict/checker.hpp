// SPDX-License-Identifier: Apache-2.0
// The checker takes one key on one case from launch to record. It launches twice. Between the two launches it
// changes everything that must not affect a right kernel: poison, alignment, gaps, schedule, grid. Then it
// inspects the buffers and judges every row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "accuracy/case/case.hpp"
#include "accuracy/judge/row_judge.hpp"
#include "accuracy/record.hpp"
#include "accuracy/written_rows.hpp"
#include "kernels/candidate.hpp"
#include "kernels/registry.hpp"

namespace assay {

struct CheckOptions {
  ErrorProfile* profile = nullptr;
  std::int64_t pitch = 0;  // distance between row starts in the first launch; 0: V
  // Also of the first launch: the elements from an aligned address to its first row, and its schedule.
  std::int64_t offset = 0;
  LaunchOptions launch = {};
  std::uint64_t seed = 0;  // of what the buffers hold before each launch
  bool nearest = true;     // if the case fails, look for the nearest class that it would pass
  /// The author's own promise (check `max_ulp`): no element is further from the exact value than this many
  /// ulp.
  std::optional<double> max_ulp = {};
};

class Judgement;
/// Adds to the record what was judged, and the status that follows from it (status.hpp).
Record concluded(Record r, const Variant& variant, const Case& c, Judgement& j);

/// Runs and judges. Ops without a k ignore `k`. If the candidate ends its worker process, the record's status
/// is `crashed` or `hung`. What the candidate does outside its declared limits is recorded, but is no
/// failure.
Record check_case(const Variant& variant, const Case& c, Op op, const Pick& pick,
                  const CheckOptions& options = {});

/// Judges outputs that another program wrote, with every check of check_case that needs no launch. `variant`
/// says what to expect of the outputs; it is never run.
Record judge_written(const Variant& variant, const Case& given, Op op, const Pick& pick,
                     const WrittenRows& written, const CheckOptions& options = {});

}  // namespace assay

// The checker: one key on one case, from launch to record. It launches twice, with everything a right
// kernel must not depend on changed in between (poison, alignment, gaps, schedule, grid), inspects what is
// left of the buffers, and judges every row.
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
  ElementObserver* observer = nullptr;
  std::int64_t pitch = 0;  // distance between row starts in the first launch; 0: V
  // Of the first launch too: elements from an aligned address to its first row, and how it is scheduled.
  std::int64_t offset = 0;
  LaunchOptions launch = {};
  bool nearest = true;  // of a case that failed, look for the nearest class it would pass
  /// The author's own promise: no element further from the exact value than so many ulp (check `max_ulp`).
  std::optional<double> max_ulp = {};
};

class Judgement;
/// The record with what was judged and the status that follows from it (status.hpp).
Record concluded(Record r, const Variant& variant, const Case& c, Judgement& j);

/// Runs and judges. `k` is ignored by ops without one. What a candidate's worker died of is the record's
/// status, `crashed` or `hung`; what it does outside its declared limits is recorded, never held against it.
Record check_case(const Variant& variant, const Case& c, Op op, int k, const CheckOptions& options = {});

/// Judges what somebody else's program wrote: every check of check_case that needs no launch. `variant` says
/// what may be expected of it; it is never run.
Record judge_written(const Variant& variant, const Case& given, Op op, int k, const WrittenRows& written,
                     const CheckOptions& options = {});

}  // namespace assay

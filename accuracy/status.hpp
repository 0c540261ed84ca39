// SPDX-License-Identifier: Apache-2.0
// How a status follows from checks: one rule for every record.
#pragma once

#include <string>

#include "accuracy/record.hpp"
#include "kernels/candidate.hpp"

namespace assay {

/// What a status depends on, in addition to the record's checks. A sentence is empty where there is nothing
/// to say.
struct Grounds {
  Ended ended = Ended::normally;  // how a launch ended; crashed, hung and lost have an effect
  std::string fault = {};         // what that launch reported
  FaultKind kind = FaultKind::none;
  std::string undecided = {};    // what neither passed nor failed
  Obstacle nothing_judged = {};  // why no row could be judged
  std::string too_weak = {};     // why a pass would mean nothing
  bool weak_is_outside = false;  // such a case is outside what is claimed
  std::string note = {};         // added to a pass
};

/// Sets status, why and reason by the first of these rules that applies:
/// - `crashed` or `hung`;
/// - `fail`, if checks failed: names them in the record's order;
/// - `inconclusive`, if its process was ended again and again, by itself or by another one;
/// - `unsupported`, if a launch was lost for want of memory, or `not_run`, if it was lost for want of time
///   (both set wants);
/// - `inconclusive`, if something is undecided;
/// - `unsupported`, if nothing could be judged;
/// - `inconclusive` or `unsupported` (weak_is_outside), if a pass would mean nothing;
/// - `pass`.
void decide(Record& r, const Grounds& grounds);

}  // namespace assay

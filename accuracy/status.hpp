// From checks to a status: the one rule, of every record.
#pragma once

#include <string>

#include "accuracy/record.hpp"
#include "kernels/candidate.hpp"

namespace assay {

/// What a status follows from beside the record's checks. Sentences are empty where there is nothing to say.
struct Grounds {
  Ended ended = Ended::normally;  // how a launch ended; crashed, hung and lost count
  std::string fault = {};         // of that launch
  FaultKind kind = FaultKind::none;
  std::string undecided = {};       // what neither passed nor failed
  std::string nothing_judged = {};  // why not a row could be judged
  std::string too_weak = {};        // why a pass would tell nothing
  bool weak_is_outside = false;     // such cases lie outside what is claimed
  std::string note = {};            // beside a pass
};

/// Sets status and reason, by the first of these that holds: `crashed` or `hung`; `fail`, naming the checks
/// that failed in the record's order; `unsupported` where a launch was lost for want of memory, `not_run`
/// where it was lost for want of time (either sets wants); `inconclusive` for what is undecided;
/// `unsupported` where nothing could be judged; `inconclusive`, or `unsupported`, where a pass would tell
/// nothing; `pass`.
void decide(Record& r, const Grounds& grounds);

}  // namespace assay

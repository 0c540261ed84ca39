// SPDX-License-Identifier: Apache-2.0
// How a status follows from checks: one rule for every record.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "accuracy/record.hpp"
#include "kernels/candidate.hpp"

namespace assay {

/// What a status depends on, in addition to the record's checks. A sentence is empty where there is nothing
/// to say.
struct Grounds {
  Ended ended = Ended::normally;  // how a launch ended; crashed, hung and lost have an effect
  std::string fault = {};         // what that launch reported
  FaultKind kind = {};
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

// The judge's own sanity: what a record says of one case must fit together, whoever wrote it.

/// Two things that this program found exclude each other, so that neither may be believed: its own memory,
/// its data or what a kernel says of itself was changed. No verdict is given: exit status 1.
struct Contradiction : std::runtime_error {
  explicit Contradiction(const std::string& what) : std::runtime_error("contradiction: " + what) {}
};

/// A share of a bound above this is no rounding of the share itself: a pass has none.
inline constexpr double kLargestShare = 1 + 1e-6;

/// True for a share that no case that passed can have.
constexpr bool beyond_bound(std::optional<double> share) { return share && *share > kLargestShare; }

/// Throws Contradiction, naming the case, if the record is a pass and a share of a bound is above 1, or a
/// check of it failed.
void require_sane(const Record& r);

// A record's members that are sentences for people. Nothing may decide by them. To show it, a build with
// -DASSAY_X_TEXTS=ON holds "x" in each of them: verdicts, contracts and exit statuses must be the same there
// (reports/publish/golden.py --facts).

/// Replaces each sentence by "x". What is empty stays so: that there is nothing to say is a fact.
void replace_texts(Record& r);

/// Does so in a build with ASSAY_X_TEXTS, and nothing in others. Every record of `check` and `report` passes
/// here.
void finish_texts(Record& r);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Checks the outputs that a timed kernel left: all of them by the fast judge if it supports the claim,
// otherwise a few rows by the usual checker.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "reports/sweep/rig/rig.hpp"
#include "reports/sweep/subjects.hpp"

namespace assay {

struct Verification {
  std::string verdict = "not_judged";  // pass, fail, not_judged
  std::string reason;                  // empty if all elements passed
  std::int64_t elements = 0;           // number of judged outputs
  std::optional<double> max_ulp, max_utilisation;
};

/// Seconds for the rows that the first look leaves open. A right kernel has none or few.
inline constexpr double kSecondLookSeconds = 5;

/// The result of a fast judgement that left so many rows open.
Verification verification_of(const FastJudgement& judgement, std::int64_t open_rows);

/// Judges the outputs of the rig's last launch. Throws as the rig does.
Verification verify_outputs(Rig& rig, const Variant& variant, const Problem& problem, SweepInputs& inputs);

/// A verification that was made, or that any thread may make: it has what it needs of the rig.
struct Judging {
  std::optional<Verification> now;
  std::function<Verification()> later;  // null if `now` is set
  Verification result() const { return now ? *now : later(); }
};
/// The same in two steps. If the judge works on the rig's own memory, the first step makes the judgement.
Judging begin_verification(Rig& rig, const Variant& variant, const Problem& problem, SweepInputs& inputs);

/// Combines two results: fail if either failed, judged if both were judged.
Verification combined(const Verification& before, const Verification& after);

}  // namespace assay

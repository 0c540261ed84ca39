// Whether the outputs a timed kernel left are right: all of them by the fast judge where it serves the claim,
// a few rows by the usual checker elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "reports/sweep/inputs.hpp"
#include "reports/sweep/rig/rig.hpp"

namespace assay {

struct Verification {
  std::string verdict = "not_judged";  // pass, fail, not_judged
  std::string reason;                  // empty for a pass of all elements
  std::int64_t elements = 0;           // judged: outputs of the op
  std::optional<double> max_ulp, max_utilisation;
};

/// Judges what the rig's last launch left. Throws as the rig does.
Verification verify_outputs(Rig& rig, const Variant& variant, const Problem& problem, SweepInputs& inputs);

/// Both: a fail if either is, judged if both are.
Verification combined(const Verification& before, const Verification& after);

}  // namespace assay

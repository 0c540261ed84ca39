// SPDX-License-Identifier: Apache-2.0
// Probes: inputs that are constructed to show what a kernel really does, whatever it claims. On an ordinary
// row an error of the exp or of the division hides inside a bound, which must allow for every rounding of a
// summation tree. On a probe's row the tree is exact, or the divisor is 1, or the claim leaves a single
// value. There a false claim is proved false. A probe that cannot see anything says why; it never guesses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/candidate.hpp"
#include "kernels/registry.hpp"

namespace assay {

/// What one probe saw, and what that proves about the claim.
struct Observation {
  std::string probe;       // accumulator, sum_exp, numerator_exp, division, numerators, shift, height, ...
  std::string trait = {};  // what the kernel behaves like: "exp accurate"; empty if nothing was seen
  std::string saw = {};    // the evidence: input, output, error
  std::optional<Dtype> sum = {};  // the type in which the sum is kept, where it shows
  std::string fault = {};         // how its launch failed
  Ended ended = Ended::normally;
  FaultKind fault_kind = FaultKind::none;
  std::string skipped = {};  // why nothing was judged: "a 16-bit output hides the numerators"
  bool sharper = false;      // the trait is sharper than the claim
  std::int64_t judged = 0;   // consequences of the claim that were compared with the outputs
  std::int64_t refuted = 0;  // those that do not hold
  std::string proof = {};    // the first one that does not hold, and why the claim implies it

  void refute(std::string how) {
    if (++refuted == 1) proof = std::move(how);
  }
};

/// Runs every probe on the variant, in a fixed order. Never throws for a failing kernel.
std::vector<Observation> run_probes(const Variant& variant);

/// The longest row of any probe.
inline constexpr std::int64_t kProbeV = 131071;

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// What a kernel behaves like, whatever it claims; this is part of every verdict. For a key that passes, the
// probes give one answer, which is computed once. A record that fails is judged again under other claims, and
// then names the nearest claim under which it would pass.
#pragma once

#include <string>
#include <vector>

#include "accuracy/case/case.hpp"
#include "accuracy/case/guarded.hpp"
#include "accuracy/record.hpp"
#include "kernels/candidate.hpp"
#include "kernels/registry.hpp"

namespace assay {

/// The family name of a probe's record.
inline constexpr const char* kProbeFamily = "probe";
inline constexpr const char* kProbeWhy =
    "Rows on which a claim leaves a single value or a few: what the kernel really does, against its claim.";

/// The results of all probes of a key.
struct Behaviour {
  std::string like;                   // "safe, shift subtract, exp accurate, division ieee, ..."
  std::vector<std::string> evidence;  // one sentence per probe
  std::vector<ProbeResult> probes;    // the same as facts
  CheckResult claim;  // how many consequences of the claim were compared; the first refuted one
  std::string fault;  // how a launch failed
  Ended ended = Ended::normally;
  FaultKind fault_kind = {};
};
Behaviour behaviour_of(const Variant& variant);

/// The claim, in the same words as `like`: "online, shift subtract, exp accurate, division ieee, sum f32,
/// height 73 at V = 16385, numerators recomputed".
std::string claimed_class(const Variant& variant);

/// The key's record of family `probe`: blank_probe before the probes run (status not_run), probe_record
/// after.
Record blank_probe(const Variant& variant);
Record probe_record(const Variant& variant, const Behaviour& behaviour);

/// For outputs that failed under the variant's claim: "would pass with exp=fast; height=V", the shortest
/// declaration under which the same outputs pass. Or it says that there is none, or that the outputs are not
/// at fault.
struct NearestClass {
  std::string words;
  Nearest nearest = Nearest::not_looked_for;
  void tell(Record& r) const { r.behaves_like = words, r.nearest = nearest; }
};
NearestClass nearest_class(const Variant& variant, const Case& c, Op op, const WrittenRows& run);
/// Elements of the longest case that is judged again to find it.
inline constexpr std::int64_t kLongestRejudged = std::int64_t{1} << 17;

}  // namespace assay

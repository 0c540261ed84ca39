// What a kernel behaves like, whatever it claims: part of every verdict. A key that passes has one answer,
// from its probes, computed once; a record that fails is judged again under other claims, and says the
// nearest one it would pass.
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

/// A key's probes, put together.
struct Behaviour {
  std::string like;                   // "safe, shift subtract, exp accurate, division ieee, ..."
  std::vector<std::string> evidence;  // one sentence per probe
  std::vector<std::string> sharper;   // traits that are sharper than the claim
  CheckResult claim;  // consequences of the claim that were compared, and the first refutation
  std::string fault;  // how a launch failed
  Ended ended = Ended::normally;
  FaultKind fault_kind = FaultKind::none;
};
Behaviour behaviour_of(const Variant& variant);

/// The claim in the same words: "online, shift subtract, exp accurate, division ieee, sum f32, height 73 at
/// V = 16385, numerators recomputed".
std::string claimed_class(const Variant& variant);

/// The key's record of family `probe`: before it is probed, with status not_run, and after.
Record blank_probe(const Variant& variant);
Record probe_record(const Variant& variant, const Behaviour& behaviour);

/// For outputs that failed under the variant's claim: "would pass with exp=fast; height=V", the fewest words
/// of a declaration under which the same outputs pass; or that there are none, or that the outputs are not at
/// fault.
struct NearestClass {
  std::string words;
  Nearest nearest = Nearest::not_looked_for;
  void tell(Record& r) const { r.behaves_like = words, r.nearest = nearest; }
};
NearestClass nearest_class(const Variant& variant, const Case& c, Op op, const WrittenRows& run);

}  // namespace assay

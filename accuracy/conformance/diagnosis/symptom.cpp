// SPDX-License-Identifier: Apache-2.0
// Finds the symptom from a record's status and its first failed check.
#include "accuracy/conformance/diagnosis/symptom.hpp"

#include "accuracy/conformance/inputs.hpp"
#include "accuracy/verdict/behaves_like.hpp"

namespace assay::conformance {

bool went_wrong(const Record& r) {
  return r.status == Status::fail || r.status == Status::inconclusive || r.status == Status::crashed ||
         r.status == Status::hung;
}

Symptom symptom_of(const Record& r) {
  if (r.status == Status::hung) return Symptom::hung;
  if (r.status == Status::crashed) return Symptom::died;
  if (r.status == Status::inconclusive) return Symptom::undecided;
  const CheckResult* const check = first_failed(r);
  if (!check) return Symptom::values;
  switch (check->check) {
    case Check::launch:
      return Symptom::launch;
    case Check::guard:
    case Check::inputs:
    case Check::late_write:
      return Symptom::beside;
    case Check::written:
      return Symptom::written;
    case Check::special:
      return Symptom::special;
    case Check::repeat:
    case Check::batch:
      return Symptom::differs;
    case Check::claim:
      return Symptom::claim;
    case Check::race:
    case Check::memcheck:
    case Check::racecheck:
    case Check::initcheck:
    case Check::synccheck:
      return Symptom::tool;
    default:
      return Symptom::values;
  }
}

bool apart(const Record& r) {
  return r.group == "calls" || r.group == "races" || r.group == "sanitize" || r.group == "fuzz" ||
         r.family == kProbeFamily || (traits_of(r.family) & trait::mixed) || find_check(r, Check::property);
}

}  // namespace assay::conformance

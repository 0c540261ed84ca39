// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/says_no.hpp"

namespace assay::conformance {

bool says_no(FaultKind cause) {
  switch (cause) {
    case FaultKind::returned_status:
    case FaultKind::threw:
    case FaultKind::refused_call:
    case FaultKind::trap:
    case FaultKind::bad_launch:
    case FaultKind::misaligned:
    case FaultKind::died:
      return true;
    default:
      return false;
  }
}

bool says_no(const Record& r) {
  const CheckResult* const first = first_failed(r);
  return says_no(cause_of(r)) && first && first->check == Check::launch && r.status != Status::hung;
}

}  // namespace assay::conformance

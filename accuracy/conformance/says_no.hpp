// SPDX-License-Identifier: Apache-2.0
// A kernel that refuses a launch with an error is not wrong there.
#pragma once

#include "accuracy/record.hpp"

namespace assay::conformance {

/// True if the launch was refused, by the kernel or by the machine: an error returned, an exception, a launch
/// or a misaligned address that the machine refuses, a trap, an exit of the process. Nothing is silently
/// wrong then. False for a hang, a read or write outside the buffers, and a race.
bool says_no(const Record& r);
/// The same, from the kind of the launch's fault.
bool says_no(FaultKind cause);

}  // namespace assay::conformance

// A kernel that says no is not wrong there: it says so.
#pragma once

#include "accuracy/record.hpp"

namespace assay::conformance {

/// True where the launch, or the machine on its behalf, said no: an error returned, an exception, a launch
/// that the machine refuses, an address that it refuses as misaligned, a trap, an exit of the process.
/// Nothing is wrong in silence there. Not so a hang, a write or read outside the buffers, a race.
bool says_no(const Record& r);
/// The same of the kind of a launch's fault.
bool says_no(FaultKind cause);

}  // namespace assay::conformance

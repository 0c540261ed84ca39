// SPDX-License-Identifier: Apache-2.0
// The symptom of a failing case, and which cases are of no use for rules. Internal to this folder.
#pragma once

#include "accuracy/record.hpp"

namespace assay::conformance {

bool went_wrong(const Record& r);

/// What a case shows in addition to its numbers. Faults with the same symptom are more likely the same fault.
enum class Symptom { hung, died, launch, beside, written, special, values, differs, claim, tool, undecided };
Symptom symptom_of(const Record& r);

/// True for cases whose row length V, rows and family say little about what was run: several calls of other
/// shapes, random lengths, rows of every family, a second program. No rule is made from them, but a rule may
/// explain them.
bool apart(const Record& r);

}  // namespace assay::conformance

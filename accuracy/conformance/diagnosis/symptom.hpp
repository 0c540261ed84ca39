// What a failing case shows besides its numbers, and which cases tell no rule. Internal to this folder.
#pragma once

#include "accuracy/record.hpp"

namespace assay::conformance {

bool went_wrong(const Record& r);

/// What a case shows besides its numbers. Faults that show alike are likelier to be one.
enum class Symptom { hung, died, launch, beside, written, special, values, differs, claim, tool, undecided };
Symptom symptom_of(const Record& r);

/// Cases whose V, rows and family say little of what was run: several calls of other shapes, lengths that are
/// drawn, rows of every family, a second program. They tell no rule, and are explained by one.
bool apart(const Record& r);

}  // namespace assay::conformance

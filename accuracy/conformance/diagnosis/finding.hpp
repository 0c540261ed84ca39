// SPDX-License-Identifier: Apache-2.0
// Makes a finding from failing cases and the rule that separates them. Internal to this folder.
#pragma once

#include <string>

#include "accuracy/conformance/diagnosis/diagnosis.hpp"
#include "accuracy/conformance/diagnosis/rules.hpp"
#include "accuracy/record.hpp"

namespace assay::conformance {

/// The symptom of a failing case, and which cases are of no use for rules. Internal to this folder.
bool went_wrong(const Record& r);

/// What a case shows in addition to its numbers. Faults with the same symptom are more likely the same fault.
enum class Symptom { hung, died, launch, beside, written, special, values, differs, claim, tool, undecided };
Symptom symptom_of(const Record& r);

/// True for cases whose row length V, rows and family say little about what was run: several calls of other
/// shapes, random lengths, rows of every family, a second program. No rule is made from them, but a rule may
/// explain them.
bool apart(const Record& r);

/// `bad` are the cases of the finding, at least one; `good` are those that pass. `lost_terms` is the cause of
/// these cases, if it is one of a number of terms (lost_terms.hpp).
Finding finding_of(Cases bad, const Cases& good, const Rule& rule, std::string lost_terms = {});

/// Makes this one of its cases the finding's first.
void begin_with(Finding& f, const Record& first);

/// Adds the cases of `other` to `into`.
void merge(Finding& into, const Finding& other);

}  // namespace assay::conformance

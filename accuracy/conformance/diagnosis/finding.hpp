// SPDX-License-Identifier: Apache-2.0
// Makes a finding from failing cases and the rule that separates them. Internal to this folder.
#pragma once

#include <cstdint>
#include <optional>
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

// Causes that single records show, where no exact rule says what many of them have in common. Internal to
// this folder.

/// If rows at the end of a page are read beyond their end: that cause, with the address of the first. Empty
/// if the finding has no such case, or begins with one, whose words then say it.
std::string cause_of_reads_beyond(const Finding& f);

/// The first case in which a log-softmax is -inf far below the maximum, where its value is finite; null if
/// there is none.
const Record* underflowed_log(const Finding& f);
inline constexpr const char* kUnderflowedLog =
    "the logarithm is taken of a probability that underflowed to 0: log-softmax should be x - m - log(sum)";

/// The first row that was never written, if it is the same one in all cases that tell it.
std::optional<std::int64_t> first_row_unwritten(const Finding& f);

/// The usual cause of a pattern of failing cases: a sentence chosen by the rule, the checks that failed and
/// the kind of fault. Internal to this folder.
inline constexpr const char* kOtherArithmetic = "arithmetic less exact than its claim";

/// One clause; empty if the pattern suggests no cause.
std::string likely_cause(const Finding& f, const Rule& rule);

}  // namespace assay::conformance

// The limits that explain why a kernel says no. Internal to this folder.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/conformance/conformance.hpp"

namespace assay::conformance {

/// A word of a declaration, and what was seen where it does not hold.
struct FoundLimit {
  std::string word;     // "max_V=1024"
  std::string outside;  // "V = 1025: an error (returned status 1)"
};

/// A failing case.
bool fails(const Record& r);

/// A case that tells little of the arithmetic where it fails: rows that a policy or a limit of the logits'
/// size decides, several calls, a few rows of very many.
bool decided_by_values(const Record& r);

/// No case fails.
bool all_pass(const std::vector<Record>& records);

/// The cases of one family.
Narrowing of_family(const std::string& family);

/// Runs the cases of a narrowed plan under a declaration, quickly.
using Pilot = std::function<std::vector<Record>(
    const std::string& words, const std::vector<std::string>& groups, const Narrowing& narrow)>;

/// The next limits that the failing records speak for, those of the launch first, then those of the values;
/// none where what fails is no limit. `variant`: as judged in `records`; `may`: whether a word may be looked
/// for.
std::vector<FoundLimit> next_limits(const Variant& variant, const std::vector<Record>& records,
                                    const std::function<bool(const char* word)>& may);

/// The same for what rows may hold: all -inf, +inf, NaN, large logits.
std::vector<FoundLimit> next_value_limits(const Variant& variant, const std::vector<Record>& records,
                                          const std::function<bool(const char* word)>& may,
                                          const Pilot& pilot);

/// The class of exp that explains outputs which are off by more than an accurate exp: one whose error grows
/// with the distance from the maximum, such as ex2.approx of a product. Looked for where nothing else fails.
std::vector<FoundLimit> next_exp_class(const Variant& variant, const std::vector<Record>& records,
                                       const std::function<bool(const char* word)>& may, const Pilot& pilot);

/// What explains outputs that are off by what stands in the divisor, or in the numerators: a small number
/// added to the sum, or exps that are stored in the outputs' type before they are divided. Looked for last.
std::vector<FoundLimit> next_divisor_class(const Variant& variant, const std::vector<Record>& records,
                                           const std::function<bool(const char* word)>& may,
                                           const Pilot& pilot);

/// What the record's launch said, in a few words: "an error (returned status 9)".
std::string what_it_said(const Record& r);
std::string what_it_said(FaultKind cause, std::string said);

}  // namespace assay::conformance

// SPDX-License-Identifier: Apache-2.0
// The limits that explain why a kernel refuses launches. Internal to this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy/conformance/conformance.hpp"
#include "kernels/declaration.hpp"

namespace assay::conformance {

/// One limit as a word of a declaration, and what was seen outside it.
struct FoundLimit {
  std::string word;     // "max_V=1024"
  std::string outside;  // "V = 1025: an error (returned status 1)"
};

/// A word of a declaration that says where a kernel is right, and the axis of the contract that it limits.
struct LimitWord {
  const char* word;
  const char* axis;
  bool of_launches = true;  // it says which launches the kernel takes, and not what comes back
};
inline constexpr LimitWord kLimitWords[] = {{"min_rows", "rows"},
                                            {"max_rows", "rows"},
                                            {"rows_multiple", "rows"},
                                            {"min_V", "row length"},
                                            {"max_V", "row length"},
                                            {"V_multiple", "row length"},
                                            {"V_in", "row length"},
                                            {"alignment", "alignment"},
                                            {"max_elements", "rows x V"},
                                            {"max_k", "k"},
                                            {"k_up_to_V", "k"},
                                            {"dense", "pitch"},
                                            {"finite", "-inf as a mask"},
                                            {"max_abs", "size of logits"},
                                            {"all_neg_inf", "nothing but -inf", false},
                                            {"pos_inf", "+inf", false},
                                            {"nan", "NaN", false}};

/// True if a declaration has a pair "word=value" with this word.
bool says(const std::string& declaration, const std::string& word);

/// True for a failing case.
bool fails(const Record& r);

/// True for a case whose failure tells little about the arithmetic: rows that are decided by a policy or by a
/// limit on the size of logits, several calls, or a few rows out of very many.
bool decided_by_values(const Record& r);

/// True for outputs of an ordinary row that are further off than any limit or class of a contract explains.
bool certainly_wrong(const Variant& variant, const Record& r);

/// True if no case fails.
bool all_pass(const std::vector<Record>& records);

/// Selects the cases of one family.
Narrowing of_family(const std::string& family);

/// Runs the cases of a narrowed plan, at the quick extent, under a declaration.
using Pilot = std::function<std::vector<Record>(
    const std::string& words, const std::vector<std::string>& groups, const Narrowing& narrow)>;

/// The next limits that explain the failing records: first limits of the launch, then limits of the values.
/// Empty if no limit explains the failures. `variant`: as judged in `records`; `may`: whether a limit may be
/// looked for.
std::vector<FoundLimit> next_limits(const Variant& variant, const std::vector<Record>& records,
                                    const std::function<bool(const char* word)>& may);

/// The same for the values in rows: all -inf, +inf, NaN, large logits.
std::vector<FoundLimit> next_value_limits(const Variant& variant, const std::vector<Record>& records,
                                          const std::function<bool(const char* word)>& may,
                                          const Pilot& pilot);

/// order=any, if the elements are the right ones and nearly all slots are in another order than the largest
/// first. Used only if nothing else fails.
std::vector<FoundLimit> next_order_class(const Variant& variant, const std::vector<Record>& records,
                                         const std::function<bool(const char* word)>& may,
                                         const Pilot& pilot);

/// The class of exp that explains outputs with larger errors than an accurate exp has: its error grows with
/// the distance from the maximum, such as ex2.approx of a product. Used only if nothing else fails.
std::vector<FoundLimit> next_exp_class(const Variant& variant, const std::vector<Record>& records,
                                       const std::function<bool(const char* word)>& may, const Pilot& pilot);

/// The class of divisor or numerator that explains wrong outputs: a small number is added to the sum, or the
/// exps are stored in the outputs' type before they are divided. This is looked for last.
std::vector<FoundLimit> next_divisor_class(const Variant& variant, const std::vector<Record>& records,
                                           const std::function<bool(const char* word)>& may,
                                           const Pilot& pilot);

/// What the launch of the record reported, in a few words: "an error (returned status 9)".
std::string what_it_said(const Record& r);
std::string what_it_said(FaultKind cause, std::string said);

}  // namespace assay::conformance

// SPDX-License-Identifier: Apache-2.0
// The promises of a kernel's author, as text: "exp=fast; height=V/256+13; ties=smaller_index; max_V=65536".
// The same words are used in a plugin's declaration, after --declare, and in a verdict that says what would
// pass.
#pragma once

#include <string>
#include <string_view>

#include "kernels/registry.hpp"

namespace assay {

/// Largest k to try on a kernel that declares nothing: what sparse attention selects. Samplers ask for 1,000.
inline constexpr int kUndeclaredK = 2048;

/// True for a value that is no promise: a max_V that only says that an int holds the row length V, and the k
/// with which a kernel is tried if none was declared.
inline bool is_no_promise(std::string_view word, const Variant& v) {
  return (word == "max_V" && v.limits.max_V == INT32_MAX) || (word == "max_k" && v.max_k == kUndeclaredK);
}

/// Sets exactly the named terms of `v`. If nothing else is known of the kernel, `v` starts as
/// undeclared_claim(op). The text is a list of "word=value" pairs, separated by ';' or white space, in any
/// order. `algorithm=naive` implies no shift, nothing kept and, unless declared otherwise, 0 beside a logit
/// of +inf. Throws InputError that names the word that is unknown, given twice, without a valid value, or in
/// conflict with another; `v` is then unchanged.
void apply_declaration(std::string_view text, Variant& v);

/// The value of one word in a declaration, such as "lower" for causal; empty if the word is absent. Throws
/// InputError if the text is not a list of words and values.
std::string declared_value(std::string_view text, std::string_view word);

/// Throws InputError if a word of the claim has no meaning for this kernel, such as numerators=output if the
/// outputs are no narrower than the arithmetic. Not called for the kernel's other types and operations, which
/// share its words.
void refuse_idle_words(const Variant& v);

/// For --help: one line per word with its values and their meaning.
std::string declaration_words();

/// The words that distinguish `v` from a kernel that declares nothing: apply_declaration on an undeclared
/// claim gives the claim of `v`. Empty if there are none. A height that is code has no text and is left out.
std::string declaration_of(const Variant& v);

}  // namespace assay

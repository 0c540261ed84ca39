// What a kernel's author promises, as text: "exp=fast; height=V/256+13; ties=smaller_index; max_V=65536". The
// same words are a plugin's declaration, the --declare of a command, and what a verdict says would pass.
#pragma once

#include <string>
#include <string_view>

#include "kernels/registry.hpp"

namespace assay {

/// The largest k that a kernel of which nothing was declared is tried with: as much as those here take.
inline constexpr int kUndeclaredK = 64;

/// Changes exactly the named terms of `v`, which starts out as undeclared_claim() if nothing else is known of
/// it: "word=value" pairs, apart by ';' or white space, in any order. `algorithm=naive` brings along what it
/// means: no shift, nothing kept, and, unless declared, 0 beside a logit of +inf. Throws InputError that
/// names the word that is unknown, given twice, without a proper value, or at odds with another; `v` is then
/// as it was.
void apply_declaration(std::string_view text, Variant& v);

/// The value of one word of a declaration's text, "lower" of causal; empty where the word is not there.
/// Throws InputError for a text that is no list of words and values.
std::string declared_value(std::string_view text, std::string_view word);

/// Throws InputError where a word of the claim means nothing of this kernel: numerators=output where the
/// outputs are no narrower than the arithmetic. Not asked of a kernel's other types and operations, which
/// share its words.
void refuse_idle_words(const Variant& v);

/// A line per word: its values and what they mean, for --help.
std::string declaration_words();

/// The words in which `v` differs from a kernel of which nothing was declared, such that apply_declaration on
/// an undeclared claim gives `v`'s; empty if there are none. A height that is code has no text and is left
/// out.
std::string declaration_of(const Variant& v);

}  // namespace assay

// What the reader of an entry is told where it says too little or something wrong: one line, with the words
// that settle it.
#pragma once

#include <string>
#include <vector>

#include "kernels/adapter/entry/signature.hpp"

namespace assay {

/// A parameter's place, counted from 1; and how --arg calls it: by its name, or by its place.
std::string entry_place(const EntrySignature& s, const Parameter& p);
std::string entry_handle(const EntrySignature& s, const Parameter& p);

[[noreturn]] void refuse_entry(const EntrySignature& s, const Parameter& p, const std::string& why);

/// Which of several parameters is what? `open`: one role that each could have, or two that are to be given to
/// two of them. Their order is no hint: every way is said.
[[noreturn]] void ask_entry(const EntrySignature& s, const std::vector<const Parameter*>& all,
                            const std::vector<Role>& open, const std::string& what);

/// Parameters without a role: pointers, or integers.
std::vector<const Parameter*> entry_undecided(const EntrySignature& s, bool pointers);

}  // namespace assay

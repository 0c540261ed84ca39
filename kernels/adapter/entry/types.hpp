// SPDX-License-Identifier: Apache-2.0
// The types of parameters: what a written type is, and which types each role allows. For example, logits are
// halves or floats, and lengths are integers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/adapter/entry/signature.hpp"

namespace assay {

/// Words of which several together form one integer type, such as `unsigned long`.
bool is_integer_word(std::string_view w);

/// The type that these words name, without const and pointers. Scalar::none if it is not known here.
Scalar scalar_of(const std::vector<std::string_view>& words);

/// Throws InputError, which names the parameter, if its role does not allow its type.
void check_role_type(const EntrySignature& s, const Parameter& p);

// Messages for an entry that says too little or something wrong: one line, with the words that settle it.

/// A parameter's place, counted from 1. The handle is how --arg calls it: by its name, or else by its place.
std::string entry_place(const EntrySignature& s, const Parameter& p);
std::string entry_handle(const EntrySignature& s, const Parameter& p);

[[noreturn]] void refuse_entry(const EntrySignature& s, const Parameter& p, const std::string& why);

/// Asks which of several parameters has which role. `open`: one role that each of them could have, or two
/// roles for two of them. Their order is no hint, so the message lists every possibility.
[[noreturn]] void ask_entry(const EntrySignature& s, const std::vector<const Parameter*>& all,
                            const std::vector<Role>& open, const std::string& what);

/// Parameters without a role: either the pointers or the integers.
std::vector<const Parameter*> entry_undecided(const EntrySignature& s, bool pointers);

// Decides by names which numbers of an entry are the rows, the row length V, and products of these.

/// Gives the parameter a value. A formula that has only rows, V and k is computed for each call.
void set_literal(Parameter& p, const std::string& text);

/// Assigns the roles that only the names of several integers together decide.
void find_lengths(EntrySignature& s);

/// True if the launcher gets rows or V: directly, through rows * V and the other one, or because it takes one
/// row.
bool knows_length(const EntrySignature& s, Role r);

/// Throws InputError if rows or V is not known. The message says how to settle it.
void need_lengths(const EntrySignature& s);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Decides by names which numbers of an entry are the rows, the row length V, and products of these.
#pragma once

#include <string>

#include "kernels/adapter/entry/signature.hpp"

namespace assay {

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

// Which numbers of an entry are the rows, their length, and products of these. Names decide.
#pragma once

#include <string>

#include "kernels/adapter/entry/signature.hpp"

namespace assay {

/// Gives the parameter a value. Of rows, V and k alone it is computed for each call.
void set_literal(Parameter& p, const std::string& text);

/// Fills in what the names of integers decide together.
void find_lengths(EntrySignature& s);

/// That the launcher is told it: by itself, with the other one as rows * V, or one row to a call.
bool knows_length(const EntrySignature& s, Role r);

/// Throws InputError, which says what would settle it, where rows or V is not known.
void need_lengths(const EntrySignature& s);

}  // namespace assay

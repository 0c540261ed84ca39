// The types of parameters: what a written one is, and which a parameter of each role may have: logits are
// halves or floats, lengths are integers.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/adapter/entry/signature.hpp"

namespace assay {

/// Words that several of make one integer type.
bool is_integer_word(std::string_view w);

/// The words of a type, without const and pointers; Scalar::none if nothing here knows it.
Scalar scalar_of(const std::vector<std::string_view>& words);

/// Throws InputError, which names the parameter, where its type is none that its role can have.
void check_role_type(const EntrySignature& s, const Parameter& p);

}  // namespace assay

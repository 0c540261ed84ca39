// SPDX-License-Identifier: Apache-2.0
// The types of parameters: what a written type is, and which types each role allows. For example, logits are
// halves or floats, and lengths are integers.
#pragma once

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

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// What each parameter of an entry is for. --arg decides first, then the name, then the type if only one
// reading is left.
#pragma once

#include <optional>
#include <vector>

#include "kernels/adapter/entry/signature.hpp"

namespace assay {

/// Fills in the roles, the op and the dtypes. Throws InputError that names the parameter and an --arg for it.
void assign_roles(EntrySignature& s, const std::vector<EntryArgument>& arguments, std::optional<Op> op,
                  std::optional<Dtype> dtype);

}  // namespace assay

// What each parameter of an entry is for: from --arg first, then from its name, then from its type where only
// one reading is left.
#pragma once

#include <optional>
#include <vector>

#include "kernels/adapter/entry/signature.hpp"

namespace assay {

/// Fills in the roles, the op and the dtypes. Throws InputError that names the parameter and an --arg.
void assign_roles(EntrySignature& s, const std::vector<EntryArgument>& arguments, std::optional<Op> op,
                  std::optional<Dtype> dtype);

}  // namespace assay

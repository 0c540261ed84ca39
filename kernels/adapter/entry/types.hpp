// Which types a parameter of each role may have: logits are halves or floats, lengths are integers.
#pragma once

#include "kernels/adapter/entry/signature.hpp"

namespace assay {

/// Throws InputError, which names the parameter, where its type is none that its role can have.
void check_role_type(const EntrySignature& s, const Parameter& p);

}  // namespace assay

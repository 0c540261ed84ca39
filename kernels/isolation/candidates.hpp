// Where a worker finds the kernel of a key.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/registry.hpp"

namespace assay {

/// A registered variant, or a planted fault ("mutant.no_rescale/f32@host"); null if neither is linked in.
const Variant* find_candidate(std::string_view key);
/// The variants of the key's name, backend and op, of every type, always in the same order: a worker holds
/// all of them. Empty for an unknown key.
std::vector<const Variant*> same_kernel(std::string_view key);

}  // namespace assay

// Where a worker finds the kernel of a key.
#pragma once

#include <string_view>

#include "kernels/registry.hpp"

namespace assay {

/// A registered variant, or a planted fault ("mutant.no_rescale/f32@host"); null if neither is linked in.
const Variant* find_candidate(std::string_view key);

}  // namespace assay

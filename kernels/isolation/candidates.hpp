// SPDX-License-Identifier: Apache-2.0
// How a worker finds the kernel of a key.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/registry.hpp"

namespace assay {

/// Returns a registered variant or a planted fault ("mutant.no_rescale/f32@host"), or null if neither is
/// linked in.
const Variant* find_candidate(std::string_view key);
/// Returns the variants of every type that share the key's name, backend and op. Their order is always the
/// same. A worker holds all of them. Empty for an unknown key.
std::vector<const Variant*> same_kernel(std::string_view key);

}  // namespace assay

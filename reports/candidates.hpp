// What a word on the command line names: registered keys, by pattern, or a shared object with kernels.
#pragma once

#include <string>
#include <vector>

#include "kernels/registry.hpp"

namespace assay {

/// Registered keys for which * and ? match, or the variants of a shared object. Throws InputError where there
/// is none.
std::vector<Variant> candidates_named(const std::string& word);

/// The one that a case file means: of `word`, the one with this key (empty: any), that does `op` on `dtype`.
/// Throws InputError.
Variant candidate_for(const std::string& word, const std::string& key, Op op, Dtype dtype);

}  // namespace assay

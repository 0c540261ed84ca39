// Where a worker finds the kernel of a key: the registry, and what else is linked into the executable.
#pragma once

#include <string_view>

#include "kernels/registry.hpp"

namespace assay {

/// Finds a variant by its key, or returns null.
using CandidateSource = const Variant* (*)(std::string_view key);

/// Adds a source, before main; the registry comes first.
bool add_candidate_source(CandidateSource source);

const Variant* find_candidate(std::string_view key);

}  // namespace assay

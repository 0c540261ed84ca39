// SPDX-License-Identifier: Apache-2.0
// A search that was interrupted, as JSON: what it had seen, and its corpus. The search goes on from there as
// if it had not been interrupted.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fuzz/search/search.hpp"

namespace assay::fuzz {

struct Checkpoint {
  SearchResult result;
  Corpus corpus;
};

nlohmann::json to_json(const SearchResult& result, const Corpus& corpus);
/// Throws InputError, naming the field.
Checkpoint checkpoint_from_json(const nlohmann::json& j);

}  // namespace assay::fuzz

// What a word on the command line of assay fuzz and assay replay names: what assay check takes, and patterns
// over the registered keys.
#pragma once

#include <string>
#include <vector>

#include "reports/targets/check_targets.hpp"

namespace assay {

struct CandidateOptions {
  SourceOptions source;         // --entry and its like; --declare for all of them
  double timeout_seconds = 20;  // of one launch
  bool in_process = false;      // registered keys without a worker
};

/// Throws InputError for a word that names nothing, or what can not be loaded or compiled.
std::vector<Target> candidates_named(const std::string& word, const CandidateOptions& options = {});

/// The one that a case file means: of `word`, the one with this key (empty: any), that does `op` on `dtype`.
/// Throws InputError.
Target candidate_for(const std::string& word, const std::string& key, Op op, Dtype dtype,
                     const CandidateOptions& options = {});

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// What a word on the command line of assay fuzz and assay replay names: all that assay check takes, and
// patterns over the registered keys.
#pragma once

#include <string>
#include <vector>

#include "reports/targets/check_targets.hpp"

namespace assay {

struct CandidateOptions {
  SourceOptions source;         // --entry and related options; --declare for all of them
  double timeout_seconds = 20;  // limit of one launch
  bool in_process = false;      // registered keys run without a worker
};

/// Throws InputError if the word names nothing, or its kernel cannot be loaded or compiled.
std::vector<Target> candidates_named(const std::string& word, const CandidateOptions& options = {},
                                     bool dead = false);

/// The candidate of a case file: the one of `word` with this key (empty: any) that does `op` on `dtype`.
/// Throws InputError.
Target candidate_for(const std::string& word, const std::string& key, Op op, Dtype dtype,
                     const CandidateOptions& options = {});

}  // namespace assay

// What a word on the command line of assay fuzz and assay replay names: a key (patterns match the registered
// ones), a shared object with kernels, or a source file. Each is launched in a worker process of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "reports/source_candidates.hpp"

namespace assay {

struct CandidateOptions {
  SourceOptions source;         // and `declare`, the author's word, on top of what any kernel brings
  double timeout_seconds = 20;  // of one launch
  bool in_process = false;      // registered keys without a worker
};

struct Candidate {
  Variant variant;                // as it is known here: for what it says of itself
  std::string words;              // that name it to assay
  std::function<Variant()> make;  // the variant with a worker of its own
};

/// Throws InputError for a word that is nothing of the kind, or can not be loaded.
std::vector<Candidate> candidates_named(const std::string& word, const CandidateOptions& options = {});

/// The one that a case file means: of `word`, the one with this key (empty: any), that does `op` on `dtype`.
/// Throws InputError.
Candidate candidate_for(const std::string& word, const std::string& key, Op op, Dtype dtype,
                        const CandidateOptions& options = {});

}  // namespace assay

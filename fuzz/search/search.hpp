// The search for an input that breaks a candidate: generations of genomes, mutated from what the corpus
// remembers. A generation is drawn one after another from the seed, tried by all workers, and learned from in
// the order in which it was drawn, so that a search is a function of candidate, seed and number of
// evaluations, whatever the threads and the time. (Where evaluations are not a multiple of kGeneration, going
// on from a corpus is a search of its own.)
#pragma once

#include <functional>
#include <vector>

#include "fuzz/mutate.hpp"
#include "fuzz/search/corpus.hpp"

namespace assay::fuzz {

inline constexpr std::int64_t kGeneration = 32;

struct SearchOptions {
  std::int64_t evaluations = 0;  // genomes to try; 0: as many as there is time for
  double seconds = 0;            // 0: until the evaluations are made
  std::uint64_t seed = 1;
  int workers = 1;
  int most_failures = 10;  // distinct ones, then it ends
  Domain domain;
  const Variant* on_device = nullptr;  // the candidate as a batch on a device launches it: in this process
  std::int64_t batch_elements = std::int64_t{1} << 26;  // of one batch on a device, where there can be one
  /// Called between generations.
  std::function<void(const struct SearchResult&)> progress = {};
};

struct Failure {
  Signature signature;
  Genome genome;
  Record record;
  std::int64_t evaluation = 0;  // the number of the trial that first showed it
};

struct SearchResult {
  std::int64_t evaluations = 0;  // of this run
  std::int64_t elements = 0;     // judged
  std::int64_t rows = 0;
  std::int64_t batches = 0;  // tried on a device
  std::int64_t in_full = 0;  // trials judged by check_case
  std::int64_t passed = 0, unsupported = 0, inconclusive = 0;
  std::string reason;  // of the first that was neither passed nor failed
  double seconds = 0;
  double largest_share = 0;  // of any bound, on rows whose outputs are all normal numbers
  std::string largest_check;
  std::vector<Failure> failures;  // by signature, each with the smallest trial that showed it
};

/// What a search for this variant draws from: its declared limits, and enough rows to be worth a launch.
Domain domain_of(const Variant& variant, Op op);

/// Goes on from `corpus` and leaves in it what was learned. `candidate` is called once per worker: an
/// isolated candidate has a process of its own in each.
SearchResult search(const std::function<Variant()>& candidate, Op op, const SearchOptions& options,
                    Corpus& corpus);

}  // namespace assay::fuzz

// SPDX-License-Identifier: Apache-2.0
// The search for an input that breaks a candidate: generations of genomes, mutated from what the corpus
// remembers. A generation is drawn in sequence from the seed, tried by all workers, and learned from in the
// order it was drawn. The search is therefore a function of candidate, seed and number of evaluations,
// whatever the threads and the time. (If the number of evaluations is not a multiple of kGeneration,
// continuing from the corpus gives another search.)
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "fuzz/mutate.hpp"
#include "fuzz/search/corpus.hpp"

namespace assay::fuzz {

inline constexpr std::int64_t kGeneration = 32;

/// The checks that compare an error with a derived bound.
inline constexpr std::array kSharedBounds = {Check::element, Check::coherence, Check::row_sum,
                                             Check::normalizer};

/// What a search looks for: an input that fails; or those that use the largest share of each bound. Then
/// every trial is judged in full and learned from at once, the best row of each of kSharedBounds has children
/// in turn, and rows with subnormal outputs, which use any bound, have none.
enum class Objective { failures, largest_shares };

struct SearchOptions {
  Objective objective = Objective::failures;
  std::vector<Genome> first = {};  // tried before any is drawn
  std::int64_t evaluations = 0;    // genomes to try; 0: as many as time allows
  double seconds = 0;              // time limit; 0: none, until the evaluations are made
  std::uint64_t seed = 1;
  int workers = 1;
  int most_failures = 10;  // stop after this many distinct failures
  Domain domain;
  const Variant* on_device = nullptr;  // the candidate as launched in device batches, in this process
  std::int64_t batch_elements = std::int64_t{1} << 26;  // elements of one device batch
  /// Called between generations.
  std::function<void(const struct SearchResult&)> progress = {};
  /// Called after each generation, when the corpus has learned from it: a search that goes on from these two
  /// makes the same trials as this one.
  std::function<void(const SearchResult&, const Corpus&)> learned = {};
  const SearchResult* from = nullptr;  // of a search to go on with; the corpus must be that search's
};

struct Failure {
  Signature signature;
  Genome genome;
  Record record;
  std::int64_t evaluation = 0;  // number of the trial that first showed it
};

struct SearchResult {
  std::int64_t evaluations = 0;  // made in this run
  std::int64_t elements = 0;     // number judged
  std::int64_t rows = 0;
  std::int64_t batches = 0;  // batches tried on a device
  std::int64_t in_full = 0;  // trials that check_case judged
  std::int64_t passed = 0, unsupported = 0, inconclusive = 0;
  std::int64_t coarse = 0;  // of `unsupported`: the claimed arithmetic lets nearly any output pass
  std::string reason;       // reason of the first trial that neither passed nor failed
  double seconds = 0;
  double largest_share = 0;  // error / bound of any check, on rows whose outputs are all normal numbers
  std::string largest_check;
  std::int64_t enough = 0;        // the search ends after so many evaluations; 0: not known yet
  std::vector<Failure> failures;  // one per signature, with the smallest trial that showed it
};

/// What a search for this variant draws from: its declared limits, and enough rows to be worth a launch.
Domain domain_of(const Variant& variant, Op op);

/// Continues from `corpus` and stores in it what was learned. `candidate` is called once per worker: each
/// worker runs an isolated candidate in a process of its own.
SearchResult search(const std::function<Variant()>& candidate, Op op, const SearchOptions& options,
                    Corpus& corpus);

}  // namespace assay::fuzz

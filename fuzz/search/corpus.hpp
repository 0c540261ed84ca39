// What a search remembers: for everything it can learn (how much of a check's bound a row of this length
// uses, a way a launcher dispatches, a way to fail) the genome that showed it best. A corpus is one file of
// JSON lines, replaced whole, so that a search goes on where the last one stopped and shards can be merged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "fuzz/evaluate.hpp"

namespace assay::fuzz {

struct Entry {
  Genome genome;
  double score = 0;
  bool operator==(const Entry&) const = default;
};

class Corpus {
 public:
  std::string key;                       // of the candidate; genomes serve others too, scores do not
  std::uint64_t seed = 0;                // of the search that wrote it
  std::int64_t evaluations = 0;          // made so far: where a search goes on
  std::map<std::string, Entry> entries;  // by feature

  /// Takes what the genome showed better than any before. True if it showed anything.
  bool learn(const Genome& g, const Evaluation& e);
  /// Entries of the other that are better or new here.
  void take(const Corpus& other);

  std::string text() const;
};

/// What a genome showed, and how well: "element/10" for V of 512 to 1023, "dispatch/...", "fail/...".
std::vector<std::pair<std::string, double>> features(const Genome& g, const Evaluation& e);
/// The feature of the element check alone.
std::string element_feature(const Genome& g, bool far);

/// Throws InputError with file and line of what can not be read.
Corpus corpus_from_text(const std::string& text, const std::string& file);

}  // namespace assay::fuzz

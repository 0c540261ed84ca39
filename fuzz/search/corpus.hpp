// SPDX-License-Identifier: Apache-2.0
// What a search remembers. For each feature it keeps the genome that showed it best. Features are: how much
// of a check's bound a row of this length uses, a way a launcher dispatches, a way to fail. A corpus is one
// file of JSON lines, always replaced as a whole, so that a search can continue and shards can be merged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "fuzz/trial.hpp"

namespace assay::fuzz {

struct Entry {
  Genome genome;
  double score = 0;
  bool operator==(const Entry&) const = default;
};

class Corpus {
 public:
  std::string key;                       // of the candidate; genomes serve others too, scores do not
  std::uint64_t seed = 0;                // seed of the search that wrote it
  std::int64_t evaluations = 0;          // number made so far; a search continues from here
  std::map<std::string, Entry> entries;  // by feature

  bool drifts = false;  // the later of two equal genomes is kept, so that a climb crosses flats

  /// Keeps what the genome showed better than any genome before. True if there was something.
  bool learn(const Genome& g, const Evaluation& e);
  /// Takes the entries of the other corpus that are better or new here.
  void take(const Corpus& other);

  std::string text() const;
};

/// What a genome showed, and how well: "element/10" for V from 512 to 1023, "dispatch/...", "fail/...".
std::vector<std::pair<std::string, double>> features(const Genome& g, const Evaluation& e);
/// The feature of a check's share. `far`: some output is subnormal or 0.
std::string share_feature(Check check, bool far, std::int64_t V);

/// Throws InputError with the file and line that cannot be read.
Corpus corpus_from_text(const std::string& text, const std::string& file);

/// A key as a file name: "online_block-f32-host".
std::string file_name(const std::string& key);
/// Path of the corpus file of a key. `suffix`: of one of several searches, such as ".0-of-2".
std::filesystem::path corpus_file(const std::filesystem::path& folder, const std::string& key,
                                  const std::string& suffix = "");

}  // namespace assay::fuzz

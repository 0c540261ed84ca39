// SPDX-License-Identifier: Apache-2.0
// A campaign on one candidate: search from what its corpus knows, shrink what was found, write the case
// files, write the corpus back. `assay fuzz` runs one per candidate, and tests call it.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/case_file.hpp"
#include "fuzz/search/search.hpp"
#include "fuzz/shrink.hpp"

namespace assay::fuzz {

/// A search that was interrupted, as JSON: what it had seen, and its corpus. The search goes on from there as
/// if it had not been interrupted.
struct Checkpoint {
  SearchResult result;
  Corpus corpus;
};

nlohmann::json to_json(const SearchResult& result, const Corpus& corpus);
/// Throws InputError, naming the field.
Checkpoint checkpoint_from_json(const nlohmann::json& j);

struct FuzzFinding;

struct CampaignOptions {
  SearchOptions search;
  ShrinkOptions shrink;
  std::string suffix;            // of the names of files, if the search is one of several
  std::filesystem::path corpus;  // folder; empty: no corpus is kept
  std::string name;              // of the candidate in the names of files, and in its corpus; empty: its key
  std::string found;             // the command, written into the case files
  bool with_options = false;     // CaseFile::with_options
  std::optional<Checkpoint> from;  // a search that was interrupted, to go on with
  /// Called with a finding as soon as there is one, before it is shrunk. May be empty.
  std::function<void(const FuzzFinding&)> at_once = {};
};

struct FuzzFinding {
  CaseFile file;
  Record record;     // of the shrunk trial, with the nearest class it would pass
  int launches = 0;  // number of launches used for shrinking
  std::string name;  // file name: "online_block-f32-host.element-finite.json"
};

struct Campaign {
  SearchResult result;
  std::vector<FuzzFinding> findings;  // one for each signature
  std::size_t remembered = 0;         // entries of the corpus
  std::size_t known_before = 0;
};

/// Reads every corpus file of the candidate's key in the folder, searches, and shrinks. `corpus_text` is the
/// new corpus, to be written to corpus_file(). Throws InputError if a corpus cannot be read.
Campaign run_campaign(const std::function<Variant()>& candidate, Op op, const CampaignOptions& options,
                      std::string* corpus_text);

/// Merges corpora of one key: the best entry of each feature.
Corpus merged(const std::vector<Corpus>& all);
/// The corpus files of a folder, sorted by name.
std::vector<std::filesystem::path> corpus_files(const std::filesystem::path& folder);

}  // namespace assay::fuzz

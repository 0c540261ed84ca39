// A campaign: one candidate searched from what its corpus knows, what was found shrunk and written as case
// files, the corpus written back. What `assay fuzz` does for each candidate, and what tests call.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "fuzz/case_file.hpp"
#include "fuzz/search/search.hpp"
#include "fuzz/search/shard.hpp"
#include "fuzz/shrink.hpp"

namespace assay::fuzz {

struct CampaignOptions {
  SearchOptions search;
  ShrinkOptions shrink;
  Shard shard;
  std::filesystem::path corpus;  // folder; empty: nothing is kept
  std::string found;             // the command, for the case files
};

struct FuzzFinding {
  CaseFile file;
  Record record;     // of the shrunk trial, with the nearest class
  int launches = 0;  // spent shrinking
  std::string name;  // of the file: "online_block-f32-host.element-finite.json"
};

struct Campaign {
  SearchResult result;
  std::vector<FuzzFinding> findings;  // one for each signature
  std::size_t remembered = 0;     // entries of the corpus
  std::size_t known_before = 0;
};

/// Reads every corpus file of the candidate's key in the folder, searches, shrinks, and returns the corpus to
/// be written in `corpus_text` (its place is corpus_file()). Throws InputError for a corpus that can not be
/// read.
Campaign run_campaign(const std::function<Variant()>& candidate, Op op, const CampaignOptions& options,
                      std::string* corpus_text);

/// Corpora of one key put together: for each feature the best.
Corpus merged(const std::vector<Corpus>& all);
/// The corpus files of a folder, in order of their names.
std::vector<std::filesystem::path> corpus_files(const std::filesystem::path& folder);

}  // namespace assay::fuzz

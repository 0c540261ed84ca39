// SPDX-License-Identifier: Apache-2.0
// One part of a run that many processes share: `--shard 2/4` is the third of four. Each part writes to a
// folder of its own inside --out, "shard-2-of-4", and `assay merge` puts the parts together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "fuzz/search/shard.hpp"

namespace assay {

using fuzz::Shard;

/// The folder that this part writes to; --out itself if there is one part.
std::filesystem::path shard_folder(const std::filesystem::path& out, const Shard& shard);

/// The file by which a part says that it is finished.
inline constexpr const char* kShardFile = "shard.json";

/// A file that a part read and no word names, such as one that a source includes.
struct ReadFile {
  std::string path, sha256;
  bool operator==(const ReadFile&) const = default;
};

/// What a finished part says of itself.
struct ShardEnd {
  int shard = 0, count = 1;
  std::string verb;     // "report"
  std::string command;  // without --shard, --out and --resume
  std::string assay;    // version and commit
  std::string files;    // SHA-256 of the files that the command names
  std::int64_t records = 0;
  int status = 0;  // the exit status
  std::vector<ReadFile> read = {};
};

/// This process's part, ended with this status.
ShardEnd shard_end(const Shard& shard, std::int64_t records, int status);

/// The text of kShardFile.
std::string shard_text(const ShardEnd& end);

/// Of what shard_text wrote. Throws InputError that names the file.
ShardEnd shard_from_text(const std::string& text, const std::string& file);
/// Throws InputError that names the file.
ShardEnd read_shard_file(const std::filesystem::path& file);

/// The members at the part's positions when the largest are dealt first: no part gets all the long ones.
/// Every index below `weights.size()` belongs to exactly one part.
std::vector<std::size_t> dealt_to(const Shard& shard, const std::vector<double>& weights);

/// Keeps every `count`th word, from `index` on.
void keep_shard(std::vector<std::string>& words, const Shard& shard);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// One part of a run that many processes share: `--shard 2/4` is the third of four. Each part writes to a
// folder of its own inside --out, "shard-2-of-4", and `assay merge` puts the parts together. An MPI or Slurm
// launcher says which part in the environment. Shards of a search differ in their seeds and file names and
// share nothing else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay {

struct Shard {
  int index = 0, count = 1;
  /// What says so, for people: "--shard", "PMI_RANK and PMI_SIZE"; empty if nothing does.
  std::string from = {};
  /// The seed of this shard's search, and the part of names of its files: ".0-of-2"; empty if there is one
  /// shard.
  std::uint64_t seed(std::uint64_t of_all) const;
  std::string suffix() const;
  /// "part 1 of 4"; empty if there is one shard.
  std::string words() const;
};

/// The shard from `given`, such as "1/4". Otherwise from the first of these in the environment:
/// OMPI_COMM_WORLD_RANK and _SIZE, PMI_RANK and PMI_SIZE, and in a step of srun SLURM_PROCID and
/// SLURM_STEP_NUM_TASKS. In a batch script of Slurm nothing is divided: sbatch sets SLURM_PROCID and
/// SLURM_NTASKS there, too, and runs it once. Throws InputError if it makes no sense.
Shard shard_of(const std::string& given);

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
  std::string kept = {};  // the file of its facts; empty: an older version did not say
  /// Of a search that found nothing: most inputs were too coarse to judge. Empty: an older version did not
  /// say.
  std::optional<bool> in_part = {};
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

/// Keeps every `count`th, from `index` on.
template <class T>
void keep_shard(std::vector<T>& all, const Shard& shard) {
  std::vector<T> mine;
  for (auto i = static_cast<std::size_t>(shard.index); i < all.size();
       i += static_cast<std::size_t>(shard.count))
    mine.push_back(std::move(all[i]));
  all = std::move(mine);
}

}  // namespace assay

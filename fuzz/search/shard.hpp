// SPDX-License-Identifier: Apache-2.0
// Which part of a run this process is, if many processes do it. An MPI or Slurm launcher says so in the
// environment. Shards of a search differ in their seeds and file names and share nothing else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "fuzz/search/corpus.hpp"

namespace assay::fuzz {

struct Shard {
  int index = 0, count = 1;
  /// What says so, for people: "--shard", "PMI_RANK and PMI_SIZE"; empty if nothing does.
  std::string from = {};
  /// The seed of this shard's search.
  std::uint64_t seed(std::uint64_t of_all) const;
  /// The part of file names for a shard, such as ".0-of-2"; empty if there is one shard.
  std::string suffix() const;
  /// "part 1 of 4"; empty if there is one shard.
  std::string words() const;
};

/// The shard from `given`, such as "1/4". Otherwise from the first of these in the environment:
/// OMPI_COMM_WORLD_RANK and _SIZE, PMI_RANK and PMI_SIZE, and in a step of srun SLURM_PROCID and
/// SLURM_STEP_NUM_TASKS. In a batch script of Slurm nothing is divided: sbatch sets SLURM_PROCID and
/// SLURM_NTASKS there, too, and runs it once. Throws InputError if it makes no sense.
Shard shard_of(const std::string& given);

/// A key as a file name: "online_block-f32-host".
std::string file_name(const std::string& key);

/// Path of the corpus file of a key and shard.
std::filesystem::path corpus_file(const std::filesystem::path& folder, const std::string& key,
                                  const Shard& shard);

}  // namespace assay::fuzz

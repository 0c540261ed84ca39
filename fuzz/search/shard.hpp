// Which part of a search this process is, when many run it: an MPI or Slurm launcher says so in the
// environment. Shards differ in their seeds and in the names of their files, and share nothing else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "fuzz/search/corpus.hpp"

namespace assay::fuzz {

struct Shard {
  int index = 0, count = 1;
  /// The seed of this shard's search.
  std::uint64_t seed(std::uint64_t of_all) const;
  /// ".0-of-2" in file names; nothing where there is one shard.
  std::string suffix() const;
};

/// "1/4" as given, or from OMPI_COMM_WORLD_RANK and _SIZE, PMI_RANK and PMI_SIZE, SLURM_PROCID and
/// SLURM_NTASKS, in this order. Throws InputError for one that makes no sense.
Shard shard_of(const std::string& given);

/// A key as a file name: "online_block-f32-host".
std::string file_name(const std::string& key);

/// The corpus file of a key and shard.
std::filesystem::path corpus_file(const std::filesystem::path& folder, const std::string& key,
                                  const Shard& shard);

}  // namespace assay::fuzz

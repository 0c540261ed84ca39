// The options of `assay fuzz`, and how a search on several GPUs passes them to its processes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/targets/candidates.hpp"

namespace assay {

struct FuzzOptions {
  std::vector<std::string> candidates;
  std::vector<std::int64_t> sizes;
  std::vector<std::string> merge;
  std::string time, op, shard, corpus, out = "out/fuzz";
  std::int64_t evaluations = 0;
  std::uint64_t seed = 1;
  int jobs = 0, device = 0;
  CandidateOptions how;
};

/// The command line of process `index` of options.jobs, on one of `devices` GPUs: the same search, another
/// shard.
std::vector<std::string> device_words(const FuzzOptions& options, int index, int devices);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The options of `assay fuzz`, and how a search on several GPUs passes them to its processes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "reports/out/run_seed.hpp"
#include "reports/targets/candidates.hpp"
#include "reports/terminal/answer.hpp"

namespace assay {

struct FuzzOptions {
  std::vector<std::string> candidates;
  std::vector<std::int64_t> sizes;
  std::vector<std::string> merge;
  std::string time, op, shard, corpus, out = "out/fuzz";
  std::int64_t evaluations = 0;
  RunSeed seed;
  int jobs = 0, device = 0;
  bool resume = false;
  CandidateOptions how;
  AnswerOptions answer;
};

/// The options that say how a candidate is compiled and launched. `in_process` is the help of --in-process.
void add_candidate_options(CLI::App& command, CandidateOptions& options, const std::string& in_process);

/// The command line of process `index` of options.jobs, on one of `devices` GPUs: the same search, another
/// shard.
std::vector<std::string> device_words(const FuzzOptions& options, int index, int devices);

/// fuzz --merge: puts corpora, records and case files of several folders into one of each. Returns the exit
/// status.
int merge_campaigns(const FuzzOptions& options, VerdictOutput& answer);

}  // namespace assay

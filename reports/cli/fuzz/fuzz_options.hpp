// SPDX-License-Identifier: Apache-2.0
// The options of `assay fuzz`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "reports/cli/run_frame.hpp"
#include "reports/out/run_seed.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {

struct FuzzOptions : FrameOptions {
  FuzzOptions() { out = "out/fuzz"; }
  std::vector<std::string> candidates;
  std::vector<std::int64_t> sizes;
  std::vector<std::string> merge;
  std::string time, op, corpus;
  std::int64_t evaluations = 0;
  RunSeed seed;
  int jobs = 0, device = 0;
  CandidateOptions how;
};

/// The options that say how a candidate is compiled and launched. `in_process` is the help of --in-process.
void add_candidate_options(CLI::App& command, CandidateOptions& options, const std::string& in_process);

/// fuzz --merge: puts corpora, records and case files of several folders into one of each. Returns the exit
/// status.
int merge_campaigns(const FuzzOptions& options, RunFrame& run);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// `assay check --jobs`: several kernels at a time, each in a process of its own, as one part of the run. The
// GPUs of the host are taken in turn, so one check at a time works on a GPU. A process takes the next kernel
// when it has done one, so that no GPU waits for a kernel that takes long.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "reports/data/report_data.hpp"
#include "reports/out/run_seed.hpp"

namespace assay {

struct SpreadOptions {
  std::vector<std::string> words;  // the kernels of the command line
  int jobs = 2;                    // processes at a time
  int device = 0;                  // ordinal of the first GPU
  int threads = 0;                 // of each process; 0: as many as if it had its share of the cores
  RunSeed seed = {};               // settled: the same for all processes
  bool resume = false;             // kernels that an earlier run has finished are not checked again
};

/// What became of a kernel where one was not checked.
struct SpreadPart {
  std::string word;  // of the command line
  std::string lost;  // why it was not checked; empty if it was
};

struct SpreadResult {
  std::optional<ReportData> data;  // of all kernels; empty if one was not checked
  std::vector<SpreadPart> parts;   // then: of each kernel
  int status = 0;                  // then: the exit status
};

/// Checks every kernel by this program's own command line. Leaves in `out` what a check of all of them leaves
/// there. If a part does not end, it says which and why, and keeps the others for --resume.
SpreadResult check_spread(const std::filesystem::path& out, const SpreadOptions& o);

}  // namespace assay

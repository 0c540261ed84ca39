// SPDX-License-Identifier: Apache-2.0
// One run in several processes of this program (`check --jobs`, `fuzz --jobs`): each does one part of it, as
// with --shard. The GPUs of the host are taken in turn, so one process at a time works on a GPU. A process
// takes the next part when it has done one, so that no GPU waits for a part that takes long.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "reports/data/report_data.hpp"
#include "reports/out/run_seed.hpp"

namespace assay {

struct SpreadOptions {
  std::vector<std::string> parts = {};  // for people: what each part is about
  int jobs = 2;                         // processes at a time
  int device = 0;                       // ordinal of the first GPU
  int threads = 0;                      // of each process; 0: as many as if it had its share of the cores
  bool in_turn = false;                 // of the processes on one GPU one works, and the others wait
  RunSeed seed = {};                    // settled: the same for all processes
  bool resume = false;                  // what an earlier run has finished is not run again
  bool shows_all = false;  // what the processes print is printed; otherwise one line for each part
};

/// What became of a part.
struct SpreadPart {
  std::string name;
  std::filesystem::path folder, output;  // its own, and what its process printed
  int status = 0;                        // the exit status
  std::string lost = {};                 // why it did not end as a finished part; empty if it did
};

/// Runs every part by this program's own command line, and waits for all of them. Throws InputError if `out`
/// holds parts of another run.
std::vector<SpreadPart> spread(const std::filesystem::path& out, const SpreadOptions& o);

/// Puts the parts of a check together: leaves in `out` what a check of all of them leaves there. Empty, and
/// says which and why, if a part is lost; then the others are kept for --resume.
std::optional<ReportData> together(const std::filesystem::path& out, const std::vector<SpreadPart>& parts,
                                   const SpreadOptions& o);

}  // namespace assay

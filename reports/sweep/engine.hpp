// SPDX-License-Identifier: Apache-2.0
// Runs a plan. For each configuration it verifies, times, verifies again and compares with the machine's
// ceilings. Each record is written, in the order of the plan, as soon as its outputs are judged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "reports/sweep/data/record.hpp"
#include "reports/sweep/data/seconds.hpp"
#include "reports/sweep/plan.hpp"

namespace assay {

struct SweepOptions {
  std::string family = "normal_1";
  std::uint64_t seed = 1;
  double budget_seconds = 0;       // no configuration is started after this time; 0: no limit
  bool again = false;              // also measures what the folder has already
  bool judge_beside_host = false;  // for tests: judges on other threads also what the host executor computes
  std::function<void(std::int64_t done, std::int64_t planned)> progress;
};

struct SweepResult {
  /// All records of the folder now: of this run, of other runs, and of peers.
  std::vector<SweepRecord> records;
  /// Those of this plan alone, one for each configuration: what this run made of it, or what it took from the
  /// folder.
  std::vector<SweepRecord> of_plan;
  /// Numbers of configurations in this plan; `had` were in the folder already.
  std::int64_t planned = 0, had = 0, once = 0;
  StatusCounts n;  // once: of those that passed
  std::int64_t measured() const { return n[Status::pass] - once; }
  std::string stopped;  // why the run ended early; otherwise empty
  SweepSeconds seconds;
};

/// The record of a job before it runs: identity, bytes, claim, and the command that repeats it.
SweepRecord blank_sweep_record(const SweepJob& job, const SweepOptions& options);

/// Runs what `folder`/sweep.jsonl does not hold yet, and adds it there. Merges `folder`/peers.jsonl. Throws
/// InputError if a file is not of a sweep, or is of another machine.
SweepResult run_sweep(const std::vector<SweepJob>& plan, const SweepOptions& options,
                      const std::filesystem::path& folder);

// The result of a sweep in words, for the terminal; the verdict comes first.

/// False if anything failed, or if nothing of the plan was timed.
bool sweep_passed(const SweepResult& r);

/// "3 of 4 planned configurations timed and verified, 1 failed": the line after PASS or FAIL.
std::string sweep_sentence(const SweepResult& r);

/// The verdict, the counts, and the three worst: first failures, then the configurations farthest from their
/// ceiling. Each has the command that repeats it. `part`: "part 0 of 3", if this is one part of a
/// run, which need not time anything.
std::string sweep_outcome(const SweepResult& r, const std::string& part = "");

}  // namespace assay

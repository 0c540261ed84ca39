// Runs a plan: verify, time, verify, hold against the machine's ceilings; one record each, written as soon as
// it is made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "reports/sweep/data/record.hpp"
#include "reports/sweep/plan.hpp"

namespace assay {

struct SweepOptions {
  std::string family = "normal_1";
  std::uint64_t seed = 1;
  double budget_seconds = 0;  // no configuration is begun after it; 0: none
  bool again = false;         // measure what the folder has, too
  std::function<void(std::int64_t done, std::int64_t planned)> progress;
};

struct SweepResult {
  /// Everything the folder holds now: this run's, other runs', and peers'.
  std::vector<SweepRecord> records;
  /// Counts of this plan; `had` were in the folder already.
  std::int64_t planned = 0, had = 0, measured = 0, once = 0, unsupported = 0, not_run = 0, failed = 0;
  std::string stopped;  // why it ended early; empty if it did not
};

/// The record of a job before it is run: identity, bytes, claim and the command that repeats it.
SweepRecord blank_sweep_record(const SweepJob& job, const SweepOptions& options);

/// Runs what `folder`/sweep.jsonl does not hold yet and keeps it there; merges `folder`/peers.jsonl. Throws
/// InputError for files that are not the sweep's, or of another machine.
SweepResult run_sweep(const std::vector<SweepJob>& plan, const SweepOptions& options,
                      const std::filesystem::path& folder);

}  // namespace assay

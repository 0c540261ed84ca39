// SPDX-License-Identifier: Apache-2.0
// The steps of `assay adopt` after the check. Each is what its own command does, on the kernels of the check.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "reports/adopt/certificate_of.hpp"
#include "reports/cli/run_frame.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {

struct StepOptions {
  std::string fuzz_time;         // as "30s"; empty: 30 s, or until the evaluations are made
  std::int64_t evaluations = 0;  // of each kernel; 0: as many as there is time for
  std::int64_t stride = 997;     // of the functions on the host
  double sweep_seconds = 60;
  std::uint64_t seed = 1;
  int threads = 0;
  std::vector<std::int64_t> sweep_sizes = {};  // empty: those of assay sweep --quick
  bool host_speed = false;                     // for tests: times host keys too
};

/// Each writes what it found into its folder of the run, and what no file there says into the facts.

/// Searches each kernel for an input that breaks it.
void fuzz_step(const std::vector<Target>& targets, const StepOptions& o, RunFrame& run, AdoptionFacts& facts);
/// Tests the functions that the kernels claim to use, or that their source files name.
void functions_step(const std::vector<Target>& targets, const StepOptions& o, RunFrame& run,
                    AdoptionFacts& facts);
/// At the beginning of a run that resumes none: the times that lie in out/sweep may be of another kernel of
/// the same key, or of another machine. They are kept as sweep.old.jsonl.
void set_sweep_aside(const std::filesystem::path& out);
/// Times the kernels, where there is a GPU.
void sweep_step(const std::vector<Target>& targets, const StepOptions& o, const std::filesystem::path& out,
                AdoptionFacts& facts);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The seed of a run, from which everything is derived that the run draws. Without --seed it is drawn afresh,
// so that nobody knows the inputs before. It then becomes a word of the command line: the journal, the parts
// of a run and the certificate hold it, and the command that they name repeats the run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay {

struct RunSeed {
  std::optional<std::uint64_t> given;  // by --seed
  std::uint64_t value = 1;             // once it is settled
  bool drawn = false;                  // not given
};

/// A number of 48 bits from the system's source of randomness; never 0. Throws EnvironmentError if there is
/// none.
std::uint64_t fresh_seed();

/// Sets `value`: the seed that was given, or that of the unfinished run in `folder` where one goes on
/// (`resume`), or a fresh one. Call it when everything about the kernel is known, and before the run's
/// journal is opened.
void settle(RunSeed& seed, const std::filesystem::path& folder, bool resume);

/// Throws InputError if the run is one of several parts and no seed was given: each part would draw its own.
void require_common_seed(const RunSeed& seed, int parts);

/// For the environment of a report: the seed, and where it is from. What it said of them before is gone.
void add_seed(std::vector<std::pair<std::string, std::string>>& environment, const RunSeed& seed);
/// "seed 12: drawn for this run; --seed 12 repeats it\n", of such an environment; empty if it names no seed.
std::string seed_line(const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace assay

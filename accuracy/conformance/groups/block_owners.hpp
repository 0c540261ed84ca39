// SPDX-License-Identifier: Apache-2.0
// Finds out whether a few blocks of a launch on the host executor are enough to compute a few rows. The group
// `big` relies on this for problems that are too large to run whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/record.hpp"
#include "kernels/isolation/parts.hpp"

namespace assay::conformance {

/// What kept launch_parts from a launch.
Obstacle no_room_of(const PartOutcome& outcome);

struct BlockOwners {
  std::int64_t rows_per_block = 0;    // rows that a block owns, in turn with the other blocks; 0: not shown
  Obstacle why;                       // if not shown: what keeps the case from being judged
  FaultKind wants = FaultKind::none;  // if not shown: what was missing, memory or nothing
  /// A launch of all blocks that went wrong. It counts against the kernel, whatever the launch was made for.
  /// `fault` says how many rows it had; `check` is the check that it fails if it came back.
  LaunchOutcome seen = {};
  Check check = Check::launch;
};

/// Tries it on problems with the same row length V and fewer rows, and with the same number of rows and a
/// smaller V, so that no offset exceeds 2^31 bytes. It is shown if chosen blocks alone write their rows with
/// the same bits as a run of all blocks, and write every other row completely or not at all. `problem`: the
/// case's problem, dense; `seconds`: the time after which a launch counts as hung.
BlockOwners block_owners(const Variant& variant, PartLauncher& launcher, const Problem& problem,
                         double seconds);

}  // namespace assay::conformance

// Whether a few blocks of a launch on the host executor are all that a few rows need: what the group `big`
// leans on where a problem is too large to run whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/record.hpp"
#include "kernels/isolation/parts.hpp"

namespace assay::conformance {

struct BlockOwners {
  std::int64_t rows_per_block = 0;    // in turn with the other blocks; 0: not shown
  std::string why;                    // then, as the reason of an unsupported case
  FaultKind wants = FaultKind::none;  // then, what was not to be had for it: memory, or nothing
  /// A launch of all its blocks went wrong: that is the kernel's, whatever it was made for. `fault` says how
  /// many rows it had; `check` is the one that it fails where it came back.
  LaunchOutcome seen = {};
  Check check = Check::launch;
};

/// Shown on problems of the same V with fewer rows, and of as many rows with a smaller V, where no offset
/// passes 2^31 bytes: chosen blocks alone write their rows with the bits of a run of all blocks, and of every
/// other row all or nothing. `problem`: the case's, dense; `seconds`: after which a launch hangs.
BlockOwners block_owners(const Variant& variant, PartLauncher& launcher, const Problem& problem,
                         double seconds);

}  // namespace assay::conformance

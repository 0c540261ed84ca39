// SPDX-License-Identifier: Apache-2.0
// The processes below this one, in a process namespace that others use too. This one must be their subreaper
// (PR_SET_CHILD_SUBREAPER), so that what a process leaves behind stays below it.
#pragma once

#include <cstddef>
#include <vector>

namespace assay::isolation {

/// Their numbers, parents first; about `most` of them at most. Empty where the operating system does not list
/// children (/proc/PID/task/TID/children).
std::vector<int> descendants(std::size_t most);

/// Kills them all. They are stopped first, so that none can start another meanwhile. Gives up after 5 s.
void kill_descendants();

/// Kills them all, and waits for their end. Gives up after 5 s.
void end_descendants();

}  // namespace assay::isolation

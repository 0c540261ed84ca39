// SPDX-License-Identifier: Apache-2.0
// The worker: a process that runs kernels for a supervisor and is expected to die of them. It is this same
// executable, started with a hidden verb. It knows buffers and problems, but no expected result.
#pragma once

#include <cstddef>
#include <vector>

namespace assay {

/// True if the command line is a worker's. Calling this marks the executable as one that has the worker verb.
bool is_worker_call(int argc, const char* const* argv);

/// `assay worker FD`: serves the supervisor at the other end of FD until it is gone. Returns the exit status.
int run_worker(int argc, const char* const* argv);

}  // namespace assay

namespace assay::isolation {

// The first process of a sandbox. It starts the worker, reports how that ended, ends everything that takes
// more than its share, and takes the whole sandbox with it when the supervisor no longer needs it.

/// Starts the command, or this program's own worker if `command` is empty. It returns in the worker only, and
/// only if that is this program's own.
void guard_worker(const char* const* command);

/// Runs a command that is no worker, with what a sandbox refuses to a worker.
[[noreturn]] void become_program(const char* const* command);

// All processes below this one, in a process namespace that others use too (descendants.cpp). This one must
// be their subreaper (PR_SET_CHILD_SUBREAPER), so that what a process leaves behind stays below it.

/// Their numbers, parents first; about `most` of them at most. Empty where the operating system does not list
/// children (/proc/PID/task/TID/children).
std::vector<int> descendants(std::size_t most);

/// Kills them all. They are stopped first, so that none can start another meanwhile. Gives up after 5 s.
void kill_descendants();

/// Kills them all, and waits for their end. Gives up after 5 s.
void end_descendants();

}  // namespace assay::isolation

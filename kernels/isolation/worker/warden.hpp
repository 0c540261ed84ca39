// SPDX-License-Identifier: Apache-2.0
// The first process of a sandbox. It starts the worker, reports how that ended, ends everything that takes
// more than its share, and takes the whole sandbox with it when the supervisor no longer needs it.
#pragma once

namespace assay::isolation {

/// Starts the command, or this program's own worker if `command` is empty. It returns in the worker only, and
/// only if that is this program's own.
void guard_worker(const char* const* command);

/// Runs a command that is no worker, with what a sandbox refuses to a worker.
[[noreturn]] void become_program(const char* const* command);

}  // namespace assay::isolation

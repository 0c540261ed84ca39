// SPDX-License-Identifier: Apache-2.0
// A process that forks the workers. They need not repeat its imports.
//
// It imports the target too, if a process that has done so may be forked. If not, it imports only the
// frameworks that the target uses (torch alone takes seconds), and each worker imports the target.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "kernels/python/worker/words.hpp"

namespace assay::python {

// Files that the interpreter opens to read: modules, data. Each is mapped as well, so that the supervisor
// sees it in /proc/PID/maps (kernels/isolation/loaded/): it asks the operating system, not the worker. Python
// code can not end this.

/// Begins with it. Once for a process and its forks.
void watch_opened();

/// Imports what comes before the target. `may_fork`: this process will fork workers.
void import_first(const Words& words, bool may_fork);

/// What a process said that imported the target and then ended.
struct Looked {
  std::string why_not;                            // why it must not be forked, or empty
  std::map<std::string, std::string> frameworks;  // what takes long to import, and its file
  std::string signature;                          // read_signature; empty if the target can not be imported
};
/// Imports the target in a process of its own, so that this one may still be forked, whatever the import
/// does, and has run none of the code that reads signatures. `read` imports the target and returns
/// read_signature, or empty.
Looked look_at_import(const std::function<std::string()>& read);

/// `import`: imports the target, and keeps what it gave for the worker. Returns in the workers only, the
/// signature.
std::string fork_workers(const std::function<std::string()>& read, const std::function<void()>& import);

}  // namespace assay::python

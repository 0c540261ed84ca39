// SPDX-License-Identifier: Apache-2.0
// Landlock: a process gives up rights to files, signals and other processes, for itself and for all that it
// starts. No namespace and no root is needed.
#pragma once

#include <string>
#include <vector>

namespace assay::isolation {

/// The version of the rules that this machine knows (Linux 5.13: 1, 6.12: 6). 0: it has no Landlock.
int landlock_version();

/// From this version on (Linux 6.12) no signal leaves the processes that gave up their rights together.
inline constexpr int kFirstWithScopes = 6;
/// From this version on (Linux 6.2) no file is cut off by a process that may not write it.
inline constexpr int kFirstWithTruncate = 3;

/// True if this machine's Landlock can do what `keep_read_only` asks for (Linux 5.19 or later).
bool can_keep_read_only();

/// For a process in a mount namespace of its own. A read-only mount keeps nobody from writing into a named
/// pipe that lies on it. From now on this process, and all that it starts, opens nothing for writing that
/// lies on a read-only mount. From Linux 6.12 on it also sends no signal to a process that was not started
/// after this. It does what the machine can do, and nothing where it can do nothing.
void keep_read_only();

/// Where a process may still do something.
struct Places {
  std::vector<std::string> writable;  // folders with all in them, files, devices; one that is missing is none
  std::vector<std::string> hidden;    // folders of which it reads no file, but those that are writable
  std::vector<std::string> shown;     // and these, with all in them
};

/// For a process without namespaces. From now on this process, and all that it starts, makes, writes, cuts
/// off, renames and deletes nothing outside of these places, asks no device outside of them for anything,
/// and reaches no process that was not started after this: neither its memory nor, with `version` 6, by a
/// signal or by an abstract socket. `version`: the newest rules to use. False if that failed.
bool keep_to(const Places& places, int version);

}  // namespace assay::isolation

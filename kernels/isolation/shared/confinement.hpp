// SPDX-License-Identifier: Apache-2.0
// What holds a process where no namespace does: Landlock, seccomp, no capabilities. The supervisor gives it
// to the warden as words of its command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace assay::isolation {

// System calls that the operating system refuses a kernel in a sandbox: namespaces and read-only files do not
// keep it from them.

/// What a worker may use. With a GPU it is in the process namespace of the machine, and CUDA needs a Unix
/// socket.
enum class Uses { host, gpu };

/// True if this machine can refuse single calls.
bool can_refuse_calls();

/// No namespace holds the process, but this version of Landlock's rules does (`keep_to`).
struct Alone {
  int landlock = 0;
  bool changes_rights = false;  // of files: a compiler makes what it has linked executable
};

/// Refuses them to this thread, from now on, and to all that it starts. False if that failed. Of a process
/// that is alone more is refused.
bool refuse_calls(Uses uses, std::optional<Alone> alone = {});

// Landlock: a process gives up rights to files, signals and other processes, for itself and for all that it
// starts. No namespace and no root is needed.

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

struct Confinement {
  Uses uses = Uses::host;
  int landlock = 0;                        // the version of its rules
  std::vector<std::string> writable = {};  // folders and files; a scratch folder is added
  std::string scratch = {};                // that folder; empty: a new one, which ends with the process
  bool compiles = false;                   // a compiler: it may change the rights of its files
  std::vector<std::string> hidden = {};    // folders of which no file may be read; /dev is one
  std::vector<std::string> shown = {};     // folders and files that may be read although they lie in those
};

/// The words, which stand in front of the command: "--confined host 7 --write /a --".
std::vector<std::string> words_of(const Confinement& confinement);

/// Takes them from the front of a command. Empty if it does not begin with them.
std::optional<Confinement> take_confinement(const char* const*& command);

/// From now on this thread, and all that it starts, is held by it. False if that failed.
bool confine_to(const Confinement& confinement);

/// Tries, in a confined process, what must fail: returns what did not fail, or empty. `scratch`: its folder.
std::string not_held(const std::string& scratch);

/// A new empty folder for files that end with the process, or empty if none can be made.
std::string make_scratch();
/// Removes it, whatever it holds.
void remove_scratch(const std::string& folder);

}  // namespace assay::isolation

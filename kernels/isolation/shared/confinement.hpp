// SPDX-License-Identifier: Apache-2.0
// What holds a process where no namespace does: Landlock, seccomp, no capabilities. The supervisor gives it
// to the warden as words of its command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/isolation/shared/refused_calls.hpp"

namespace assay::isolation {

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

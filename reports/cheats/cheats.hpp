// SPDX-License-Identifier: Apache-2.0
// Cheats against the gate: kernels, files and certificates that are made to pass although they are wrong, or
// to do something that nobody asked for. `cheats.txt` says of each what it does, which commands judge it, and
// what they must answer; `kernels/` holds the sources. Each command runs as a process of its own, as a user's
// would.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy/record.hpp"

namespace assay::cheats {

/// One line of a cheat: the command "run", say, and the rest of the line.
struct Step {
  int line = 0;
  std::string verb, rest;
};
struct Cheat {
  std::string name, what;
  std::vector<Step> steps;
  bool under_each = true;  // it is tried under each guard; otherwise under the first that works
};

/// Reads a table of cheats. Throws InputError, with the line, if a line is none that this program knows, or a
/// cheat has no name, no sentence or no expectation.
std::vector<Cheat> parse(std::string_view text);
/// Those of this program.
const std::vector<Cheat>& all();

/// What keeps the kernels from harm while a cheat runs.
enum class Guard { bubblewrap, landlock };
const char* name(Guard g);
/// Those of this machine under which a cheat is tried.
std::vector<Guard> guards(const Cheat& cheat);

struct Verdict {
  Status outcome = Status::not_run;  // pass: as expected; fail: otherwise
  std::string why;  // of a cheat that did not run, what the machine lacks; of an unexpected answer, the line
                    // of the table and what came instead
  std::string command;  // the last one that ran
  double seconds = 0;
};

struct Options {
  std::string program;           // the `assay` that is tried; empty: this one
  std::filesystem::path folder;  // where it works: it must be empty, and stays
};

/// Runs one cheat. Throws only if the folder can not be written.
Verdict run(const Cheat& cheat, Guard guard, const Options& options);

}  // namespace assay::cheats

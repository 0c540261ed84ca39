// SPDX-License-Identifier: Apache-2.0
// What holds a worker: bubblewrap where it works, otherwise Landlock and seccomp.
#pragma once

#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/guard.hpp"

namespace assay::isolation {

/// CUDA opens another process's memory only in the same process namespace. So a worker that uses a GPU keeps
/// that of the host, and the warden ends what it has started.
enum class Reach { host, device };

/// The words in front of a program that runs a candidate's code on the host and is no worker. Its exit status
/// is as from a shell. Empty if nothing holds it.
std::vector<std::string> program_words();

/// The words in front of a compiler. It writes in one folder, which `writable` names, and sees the folders
/// `shown` even in /run or /dev/shm. Empty if nothing holds it.
std::vector<std::string> compiler_words(const std::string& writable, const std::vector<std::string>& shown);

/// The reach of a worker of which nobody knows whether it uses a GPU.
Reach widest_reach();

/// How a worker is started.
struct Sandbox {
  Guard guard = Guard::none;
  std::vector<std::string> front = {};  // words in front of the warden: those of `bwrap`, up to "--"
  std::vector<std::string> told = {};   // words for the warden: what it holds the worker with
  std::vector<std::pair<std::string, std::string>> environment = {};
};

/// `compiles`: the kernel whose workers share a folder for what they compile.
Sandbox sandbox_of(Reach reach, const std::optional<std::string>& compiles);

/// Workers that start from now on find the folder of this file, even in /run or /dev/shm, which are empty for
/// them otherwise.
void sandbox_shows(const std::string& file);

/// Workers that start from now on do not write in this folder, whatever else they may write: not even where
/// it lies in a folder that compilers of theirs keep things in.
void sandbox_keeps(const std::string& folder);

/// What sandbox_shows has named: folders, and files.
std::set<std::string> shown_places();

/// False: workers that are started from now on run without a sandbox.
std::atomic<bool>& sandbox_wanted();

/// What holds workers of this reach that start now.
Guard guard_of(Reach reach);
/// "bubblewrap"; "Landlock and seccomp (bwrap: it is not installed)"; why there is none.
std::string guard_words(Reach reach);

/// Of tests: what this process takes as missing on this machine.
struct Missing {
  std::atomic<bool> bubblewrap{false};
  std::atomic<int> landlock_after{1 << 20};  // versions of Landlock's rules that are newer
};
Missing& missing();

}  // namespace assay::isolation

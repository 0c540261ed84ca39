// SPDX-License-Identifier: Apache-2.0
// How a worker runs under bubblewrap: which namespaces, which files, which devices.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace assay::isolation {

/// CUDA opens another process's memory only in the same process namespace. So a worker that uses a GPU keeps
/// that of the host, and the warden ends what it has started.
enum class Reach { host, device };

/// The words in front of a program that runs a candidate's code on the host and is no worker. Its exit status
/// is as from a shell. Empty if this machine can not run it.
std::vector<std::string> program_words();

/// The words in front of a compiler. It writes in one folder, which `writable` names, and sees the folders
/// `shown` even in /run or /dev/shm. Empty if this machine can not run it.
std::vector<std::string> compiler_words(const std::string& writable, const std::vector<std::string>& shown);

/// The reach of a worker of which nobody knows whether it uses a GPU.
Reach widest_reach();

/// The words of `bwrap` in front of the command. Empty if this machine can not run it. `compiles`: the kernel
/// whose workers share a folder for what they compile.
std::vector<std::string> sandbox_words(Reach reach, const std::optional<std::string>& compiles);

/// Workers that start from now on find the folder of this file, even in /run or /dev/shm, which are empty for
/// them otherwise.
void sandbox_shows(const std::string& file);

/// Workers that start from now on do not write in this folder, whatever else they may write: not even where
/// it lies in a folder that compilers of theirs keep things in.
void sandbox_keeps(const std::string& folder);

/// False: workers that are started from now on run without a sandbox.
std::atomic<bool>& sandbox_wanted();

/// Why workers of this reach run without a sandbox, in a few words. Empty if they run in one.
std::string why_not_sandboxed(Reach reach);

}  // namespace assay::isolation

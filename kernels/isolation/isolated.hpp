// SPDX-License-Identifier: Apache-2.0
// Kernels in a process of their own. Such a kernel may crash, hang or write where it should not, and is
// judged all the same.
//
// The worker gets a problem and buffers that belong to this process. It gets no expected result and no bound.
// It runs in a sandbox: bubblewrap's where that works, otherwise one of Landlock and seccomp. Where neither
// works, only this project's own kernels run, unless all are to run without one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/candidate.hpp"
#include "kernels/registry.hpp"
#include "reference/error.hpp"

namespace assay {

inline constexpr double kUsualTimeout = 20;  // seconds

struct IsolationOptions {
  /// The time limit of one launch, and of loading. It counts the worker's own time (warm_process.hpp), times
  /// its share of the device. After it the worker is ended, and the outcome is `hung`. The usual limit is
  /// that of long launches: a short one gets 3 s and 10 us an element (on a GPU 2 s and 2 us).
  double timeout_seconds = kUsualTimeout;
  std::string worker = {};  // executable with the `worker` verb; default: $ASSAY_WORKER, or this `assay`
  bool sandbox = true;      // false: never in a sandbox
  /// True: the shared object was compiled for this GPU, so that its first launch there compiles nothing.
  bool made_for_gpu = false;
  /// True: the sandbox that a worker has which may use a GPU, on any machine. Tests want it.
  bool as_on_a_gpu = false;
};

/// Thrown when a shared object crashes or hangs while it is loaded: it exists, and that is what it does.
struct DiedAtLoad : InputError {
  DiedAtLoad(const std::string& what, Ended how) : InputError(what), ended(how) {}
  Ended ended;
};

/// False: no worker that is started from now on runs in a sandbox.
void want_sandbox(bool wants);
bool wants_sandbox();
/// Why a kernel that is started now would run without a sandbox: "bwrap: it is not installed; Landlock: ...".
/// Empty if it would run in one.
std::string why_not_sandboxed();
/// What holds kernels that are started now: "bubblewrap", "Landlock and seccomp (bwrap: it is not
/// installed)". Not to be asked where they run without a sandbox.
std::string held_by();

/// The words in front of a program that runs a candidate's code on the host and is no worker. Empty without a
/// sandbox.
std::vector<std::string> sandbox_of_programs();

/// The same variant, launched in a worker. Throws InputError if there is no worker or the worker does not
/// know the key.
Variant isolated(const Variant& registered, const IsolationOptions& options = {});

/// Loads the kernels of a shared object with the C ABI (kernels/plugin.h). They share one worker. `path#name`
/// and `path#name/f16:f32` select one of them. Throws InputError, with one line, if the file is missing or no
/// shared object, if its entry is missing or bad, or if a declaration is bad;
/// DiedAtLoad if loading it crashes or hangs.
std::vector<Variant> load_plugin(const std::string& path, const IsolationOptions& options = {});

// How a worker finds the kernel of a key.

/// Returns a registered variant or a planted fault ("mutant.no_rescale/f32@host"), or null if neither is
/// linked in.
const Variant* find_candidate(std::string_view key);
/// Returns the variants of every type that share the key's name, backend and op. Their order is always the
/// same. A worker holds all of them. Empty for an unknown key.
std::vector<const Variant*> same_kernel(std::string_view key);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// What every kind of worker does: it serves the supervisor at the other end of its socket.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/isolation/shared/message.hpp"

namespace assay::isolation {

/// The kernels that a worker holds, as its loop uses them.
class WorkerKernels {
 public:
  virtual ~WorkerKernels() = default;
  virtual std::size_t size() const = 0;
  virtual Described describe(std::size_t entry) const = 0;
  /// Throws whatever the entry throws.
  virtual std::uint64_t workspace_bytes(std::size_t entry, const Problem& problem, int device) const = 0;
  /// Calls the entry of the request. Returns empty, or what the entry returned or threw.
  virtual Said run(const Launch& request, int slot, const std::array<void*, kBuffers>& at, void* stream,
                   int device) const = 0;
  /// True if a kernel works on device memory.
  virtual bool on_device() const = 0;
  /// True if they come from elsewhere, so that what they do to their own memory is watched.
  virtual bool foreign() const { return true; }
  /// True if the blocks of a launch on host memory can be chosen.
  virtual bool chooses() const { return false; }
  /// What the later launches of the calling thread call between their kernels, blocks and warps
  /// (kernels/host/executor.hpp, take_turns). False if they call nothing.
  virtual bool take_turns(void (*)(int)) const { return false; }
  /// Called before the launches of a request on host memory.
  virtual void prepare(const Launch&) const {}
  /// True if an interpreter enqueues the launches, which takes it longer.
  virtual bool interpreted() const { return false; }
  /// Called around launches that are timed. What they return need not be in its buffers until the second
  /// call, which puts there what the last one returned.
  virtual void begin_timed() const {}
  virtual Said end_timed() const { return {}; }
  /// LaunchOutcome::dispatch of the last launch.
  virtual std::uint64_t dispatch() const { return 0; }
};

/// Opens what a request names. On failure it returns null, and the answer says what is wrong.
using OpenKernels = std::function<std::unique_ptr<WorkerKernels>(const Load&, Loaded&)>;

/// Ends this process together with its parent, closes descriptors that it was not given, and makes the OOM
/// killer choose it first.
void confine();

/// Makes this process a worker and serves until the supervisor is gone. Returns the exit status. `forked`:
/// the process is a fork of a confined one, and keeps open what that one had opened.
int serve(const OpenKernels& open, bool forked = false);

}  // namespace assay::isolation

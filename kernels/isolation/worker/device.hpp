// SPDX-License-Identifier: Apache-2.0
// The device side of a worker: buffers that belong to the supervisor, and streams of the worker's own.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/isolation/shared/message.hpp"
#include "kernels/isolation/worker/loop.hpp"

namespace assay::isolation {

class WorkerDevice {
 public:
  /// Enqueues one launch on `stream`. Returns a fault, or empty.
  using Call = std::function<Said(int slot, const std::array<void*, kBuffers>& at, void* stream)>;

  WorkerDevice();
  ~WorkerDevice();
  WorkerDevice(const WorkerDevice&) = delete;
  WorkerDevice& operator=(const WorkerDevice&) = delete;

  /// Makes the context and the streams, which takes long. `launch` does it otherwise.
  void begin(int device);
  /// Opens the buffers, makes the launches, and waits for the events of their streams.
  void launch(const Launch& request, const std::vector<int>& descriptors, int device, Done& done,
              const Call& call);
  /// Makes the launches of a batch in order, and waits once.
  using BatchCall =
      std::function<Said(const Launch& one, const std::array<void*, kBuffers>& at, void* stream)>;
  void batch(const Batch& request, int device, Batched& answer, const BatchCall& call);
  /// Enqueues one launch of `kernels` that is timed.
  using TimedCall = std::function<Said(const std::array<void*, kBuffers>& at, void* stream)>;
  /// Makes the launches of the request on the supervisor's memory, and times them.
  void time(const Time& request, int device, Timed& timed, const WorkerKernels& kernels,
            const TimedCall& call);
  /// Waits for all work that the device still does for this process.
  void settle(Settled& settled);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::isolation

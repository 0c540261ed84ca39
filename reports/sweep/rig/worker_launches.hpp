// SPDX-License-Identifier: Apache-2.0
// The launches of a rig whose kernel runs in a worker process: made and timed there, on the rig's memory.
#pragma once

#include <memory>

#include "kernels/candidate.hpp"
#include "kernels/registry.hpp"

namespace assay {

class WorkerLaunches {
 public:
  WorkerLaunches() = default;
  WorkerLaunches(const WorkerLaunches&) = delete;
  WorkerLaunches& operator=(const WorkerLaunches&) = delete;
  ~WorkerLaunches() { forget(); }

  /// From now on launches are of this variant. Throws SweepUnsupported if it cannot be timed.
  void choose(const Variant& variant);
  /// Makes the launches, and returns their times. Throws std::runtime_error if the kernel crashes,
  /// hangs or fails, SweepUnsupported if it refuses the problem, and SweepNotRun if the machine lacks
  /// something.
  TimedOutcome run(const Variant& variant, const Problem& problem, const TimedSets& sets,
                   const TimedLaunches& launches);
  /// Call it before the memory is freed or replaced.
  void forget();

 private:
  std::shared_ptr<Launcher> worker_;
};

}  // namespace assay

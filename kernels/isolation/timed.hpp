// SPDX-License-Identifier: Apache-2.0
// Launches that are timed in the worker, on device memory of this process. The worker's events tell how long
// they took; this process's clock bounds what they may tell. What they wrote is read and judged here, where
// no foreign code runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/candidate.hpp"
#include "kernels/isolation/shared/timed_sets.hpp"

namespace assay {

struct TimedLaunches {
  std::int64_t first = 0;  // the set of the first launch; the others follow in turn
  std::int64_t count = 1;
  std::uint64_t cold_bytes = 0;  // so many other bytes are moved before the first launch, not timed
  bool cold_copies = false;      // they are copied, half of them to the other half, not read
  bool own_stream = false;       // on a stream of the worker's own, as most launches of a check are
};

struct TimedOutcome {
  double us = 0;  // of all launches, as the worker says
  LaunchOutcome launch = {};
  /// By this process: from the request to the answer, and the worker's processor time of it. Both are larger
  /// than what belongs to the launches. No processor time: the system does not tell.
  double waited_us = 0;
  std::optional<double> processor_us = {};
  bool only_last = false;  // only the outputs of the last launch are in its buffers
};

/// A Launcher that can do this.
class TimedLauncher {
 public:
  virtual ~TimedLauncher() = default;
  /// Empty, or why its launches are not timed here.
  virtual std::string cannot_time() const = 0;
  /// Never throws because a kernel fails. After a crash or a hang the next call uses a fresh worker.
  virtual TimedOutcome time(const Variant& variant, const Problem& problem, const TimedSets& sets,
                            const TimedLaunches& launches) = 0;
  /// Call it before the memory is freed or replaced.
  virtual void forget_sets() = 0;
};

}  // namespace assay

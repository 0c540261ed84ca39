// SPDX-License-Identifier: Apache-2.0
// The messages between a supervisor and the process that forks its workers.
#pragma once

#include "kernels/isolation/shared/message.hpp"

namespace assay::isolation {

/// The process has loaded what its workers need.
struct Warm {
  Head head{.kind = Kind::warm};
  Text<512> declines;  // why it must not be forked, or empty
  Text<512> repeats;   // why its workers load some parts themselves, or empty
};

/// Asks for a worker. Two descriptors are sent along: the worker's socket and its standard output.
struct Fork {
  Head head{.kind = Kind::fork};
};
struct Forked {
  Head head{.kind = Kind::forked};
  std::int32_t pid = 0;
  std::int32_t error = 0;  // an errno if there is no worker
};

/// Asks whether this worker has ended, and how. Does not wait for it.
struct Reap {
  Head head{.kind = Kind::reap};
  std::int32_t pid = 0;
  std::int32_t keep = 0;  // 1: its process id stays in use
};
struct Reaped {
  Head head{.kind = Kind::reaped};
  std::int32_t ended = 0;
  std::int32_t status = 0;  // as from waitpid
};

}  // namespace assay::isolation

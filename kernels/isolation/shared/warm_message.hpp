// What a supervisor and a process that forks its workers say to each other.
#pragma once

#include "kernels/isolation/shared/message.hpp"

namespace assay::isolation {

/// It has loaded what its workers need.
struct Warm {
  Head head{.kind = Kind::warm};
  Text<512> declines;  // why it must not be forked; empty: it may
  Text<512> repeats;   // why its workers load the rest of what they need; empty: it has loaded all
};

/// A worker is wanted. Two descriptors travel along: its socket, and its standard output.
struct Fork {
  Head head{.kind = Kind::fork};
};
struct Forked {
  Head head{.kind = Kind::forked};
  std::int32_t pid = 0;
  std::int32_t error = 0;  // an errno, if there is no worker
};

/// Has this worker ended, and how? It is not waited for.
struct Reap {
  Head head{.kind = Kind::reap};
  std::int32_t pid = 0;
  std::int32_t keep = 0;  // 1: its number stays taken
};
struct Reaped {
  Head head{.kind = Kind::reaped};
  std::int32_t ended = 0;
  std::int32_t status = 0;  // as waitpid gives it
};

}  // namespace assay::isolation

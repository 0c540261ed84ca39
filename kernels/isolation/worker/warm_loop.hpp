// SPDX-License-Identifier: Apache-2.0
// What the process that forks workers does: it answers its supervisor until a worker is wanted.
#pragma once

#include <sys/types.h>

#include <string>

namespace assay::isolation {

/// Tells the supervisor that this process has loaded what its workers need. `declines`: why it must not be
/// forked, or empty. `repeats`: why each worker loads the target itself, or empty. False if the supervisor is
/// gone.
bool say_warm(const std::string& declines, const std::string& repeats);

/// The descriptors that a worker is given.
struct Wanted {
  int socket = -1, output = -1;
};

/// Waits until a worker is wanted. False if the supervisor is gone.
bool next_wanted(Wanted& wanted);

/// Called in the parent after the fork: reports which worker it is, or the error. False if the supervisor is
/// gone.
bool say_forked(const Wanted& wanted, pid_t pid, int error);

/// Called in the child after the fork: takes the descriptors it is given, and gives up those of its parent.
void become_worker(const Wanted& wanted);

}  // namespace assay::isolation

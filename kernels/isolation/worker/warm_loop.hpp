// What a process does that forks workers: it answers its supervisor until a worker is wanted.
#pragma once

#include <sys/types.h>

#include <string>

namespace assay::isolation {

/// Tells the supervisor that this process has loaded what its workers need; `declines`: why it must not be
/// forked, if so; `repeats`: why each worker loads the target itself, if so. False: the supervisor is gone.
bool say_warm(const std::string& declines, const std::string& repeats);

/// What a worker is given.
struct Wanted {
  int socket = -1, output = -1;
};

/// Waits until a worker is wanted. False: the supervisor is gone.
bool next_wanted(Wanted& wanted);

/// In the process that has forked: says which worker it is, or what was wrong. False: the supervisor is gone.
bool say_forked(const Wanted& wanted, pid_t pid, int error);

/// In the process that was forked: takes what it is given, and leaves what was its parent's.
void become_worker(const Wanted& wanted);

}  // namespace assay::isolation

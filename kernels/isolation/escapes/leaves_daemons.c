// SPDX-License-Identifier: Apache-2.0
/* Leaves daemons behind: a process in a session of its own, whose parent has ended.
 * Each holds a lock on the file that the tests look at, so none may be alive when that is free.
 *
 * expects: pass
 * only in a sandbox */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  const int held = open(trace(), O_RDONLY);
  struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
  (void)c;
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    if (held >= 0) fcntl(held, F_SETLK, &lock);
    for (;;) pause();
  }
  if (held >= 0) close(held);
}
CANDIDATE("leaves_daemons")

// SPDX-License-Identifier: Apache-2.0
/* Leaves a daemon behind and ends its process, in a static constructor.
 * expects: refused - "crashed while it was loaded: exited with status 0"
 * only in a sandbox */
#include "kernels/isolation/hostile/hostile.h"

__attribute__((constructor)) static void construct(void) {
  const int held = open(trace(), O_RDONLY);
  struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
  if (fork() == 0) {
    setsid();
    if (held >= 0) fcntl(held, F_SETLK, &lock);
    for (;;) pause();
  }
  _exit(0);
}

static void misbehave(const assay_call* c) { (void)c; }
CANDIDATE("constructor_leaves")

// SPDX-License-Identifier: Apache-2.0
/* Kills its parent, and everything else that it may.
 * expects: pass
 * only in a sandbox */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  (void)c;
  kill(getppid(), SIGKILL);
  kill(getppid(), SIGSTOP);
  kill(-1, SIGKILL);
}
CANDIDATE("kills_parent")

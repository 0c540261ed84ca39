// SPDX-License-Identifier: Apache-2.0
/* Kills its parent, and everything else that it may. It does so only as a child of process 1, which is its
 * parent in a sandbox: elsewhere it would end all that its user runs.
 *
 * expects: pass
 * only in a sandbox */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  (void)c;
  if (getppid() != 1) return;
  kill(getppid(), SIGKILL);
  kill(getppid(), SIGSTOP);
  kill(-1, SIGKILL);
}
CANDIDATE("kills_parent")

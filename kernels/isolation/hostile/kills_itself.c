// SPDX-License-Identifier: Apache-2.0
/* Ends its process by a signal that nobody can catch.
 * expects: crashed died "by signal 9 (Killed)" */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  (void)c;
  raise(SIGKILL);
}
CANDIDATE("kills_itself")

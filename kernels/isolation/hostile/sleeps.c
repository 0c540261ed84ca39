// SPDX-License-Identifier: Apache-2.0
/* Sleeps without end.
 * expects: hung no_answer "nothing came back within" */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  (void)c;
  for (;;) pause();
}
CANDIDATE("sleeps")

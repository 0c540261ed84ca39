// SPDX-License-Identifier: Apache-2.0
/* Loops without end.
 * expects: hung no_answer "nothing came back within" */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  volatile float x = 0;
  (void)c;
  for (;;) x = x + 1;
}
CANDIDATE("loops")

// SPDX-License-Identifier: Apache-2.0
/* Ends its process in every seventh launch, so that each of these launches is well when it is made again.
 * expects: pass */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  static int calls = 0;
  (void)c;
  if (++calls % 7 == 0) raise(SIGKILL);
}
CANDIDATE("dies_now_and_then")

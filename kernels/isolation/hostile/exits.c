// SPDX-License-Identifier: Apache-2.0
/* Ends its process as if all were well.
 * expects: crashed died "exited with status 0" */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  (void)c;
  exit(0);
}
CANDIDATE("exits")

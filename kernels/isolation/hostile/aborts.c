// SPDX-License-Identifier: Apache-2.0
/* Aborts with words of its own.
 * expects: crashed died "no licence found" */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  (void)c;
  fputs("no licence found\n", stderr);
  abort();
}
CANDIDATE("aborts")

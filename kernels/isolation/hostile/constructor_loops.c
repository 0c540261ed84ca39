// SPDX-License-Identifier: Apache-2.0
/* Loops in a static constructor, when it is loaded.
 * expects: refused - "hung while it was loaded: nothing came back within 0.3 s" */
#include "kernels/isolation/hostile/hostile.h"

__attribute__((constructor)) static void construct(void) {
  volatile int forever = 1;
  while (forever) continue;
}

static void misbehave(const assay_call* c) { (void)c; }
CANDIDATE("constructor_loops")

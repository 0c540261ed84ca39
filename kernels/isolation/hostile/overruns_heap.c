// SPDX-License-Identifier: Apache-2.0
/* Writes one byte past memory that it got from malloc and keeps. Nothing of it is seen in the outputs.
 * expects: fail own_memory_overrun "memory was written past the 40 bytes that malloc or new gave" */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  static char* volatile block;
  (void)c;
  if (!block) block = malloc(40);
  if (block) block[40] = 1;
}
CANDIDATE("overruns_heap")

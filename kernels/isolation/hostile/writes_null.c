// SPDX-License-Identifier: Apache-2.0
/* Writes through a null pointer.
 * expects: crashed wild_access "a write at address 0x0, near a null pointer" */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  (void)c;
  *(volatile int*)NULL = 1;
}
CANDIDATE("writes_null")

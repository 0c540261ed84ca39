// SPDX-License-Identifier: Apache-2.0
/* Writes to an address that is not its own.
 * expects: crashed wild_access "a write at address" */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  (void)c;
  *(volatile int*)(uintptr_t)0x7000000000 = 1;
}
CANDIDATE("writes_wildly")

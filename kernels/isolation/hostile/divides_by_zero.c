// SPDX-License-Identifier: Apache-2.0
/* Divides by zero.
 * expects: crashed died "arithmetic exception (SIGFPE)" */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  volatile int one = 1, zero = 0;
  (void)c;
  one = one / zero;
}
CANDIDATE("divides_by_zero")

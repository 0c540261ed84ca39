// SPDX-License-Identifier: Apache-2.0
/* Calls itself without end.
 * expects: crashed wild_access "segmentation fault" */
#include "kernels/isolation/hostile/hostile.h"

static int deeper(volatile char* from, long depth) {
  volatile char frame[4096];
  frame[0] = *from;
  return depth == 0 ? frame[0] : deeper(frame, depth - 1) + frame[0];
}

static void misbehave(const assay_call* c) {
  volatile char first = 1;
  (void)c;
  deeper(&first, 1L << 40);
}
CANDIDATE("overflows_stack")

// SPDX-License-Identifier: Apache-2.0
/* Asks for 3 GiB of zeros, of which it touches none: they must cost neither time nor memory.
 * expects: pass */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  (void)c;
  free(calloc(3, (size_t)1 << 30));
}
CANDIDATE("reserves_zeros")

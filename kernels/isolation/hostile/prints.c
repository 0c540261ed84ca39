// SPDX-License-Identifier: Apache-2.0
/* Prints 10 MB.
 * expects: pass */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  static char line[1024];
  int i;
  (void)c;
  memset(line, 'x', sizeof line - 1);
  line[sizeof line - 1] = '\n';
  for (i = 0; i < 10 * 1024; ++i) (void)!write(1, line, sizeof line);
}
CANDIDATE("prints")

// SPDX-License-Identifier: Apache-2.0
/* Takes all the memory that it can get.
 * expects: crashed died "ended by the sandbox: it used more than 1024 MiB of memory"
 * only in a sandbox */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  (void)c;
  for (;;) {
    char* const block = malloc(8 << 20);
    if (block) memset(block, 1, 8 << 20);
    usleep(1000);
  }
}
CANDIDATE("eats_memory")

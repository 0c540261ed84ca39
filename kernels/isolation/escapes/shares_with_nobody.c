// SPDX-License-Identifier: Apache-2.0
/* Uses memory that it could share with other processes, and a process of its own does the same.
 * expects: crashed died "ended by the sandbox: it used more than 1024 MiB of memory"
 * only in a sandbox */
#include <sys/mman.h>

#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  const size_t piece = (size_t)16 << 20;
  size_t i;
  (void)c;
  if (fork() < 0) return;
  for (i = 0; i < 100; ++i) {
    void* const at = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) break;
    memset(at, 1, piece);
    usleep(1000);
  }
  sleep(30);
}
CANDIDATE("shares_with_nobody")

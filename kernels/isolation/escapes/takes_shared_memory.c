// SPDX-License-Identifier: Apache-2.0
/* Maps the memory that holds the buffers far behind them, and writes there.
 * expects: crashed died "of the memory that the launch shares, beside its buffers" */
#include <sys/mman.h>

#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  const off_t far = (off_t)1 << 39;
  const size_t piece = (size_t)16 << 20;
  size_t i;
  int fd;
  (void)c;
  for (fd = 3; fd < 64; ++fd)
    for (i = 0; i < 40; ++i) {
      void* const at = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_SHARED, fd, far + (off_t)(i * piece));
      if (at == MAP_FAILED) break;
      memset(at, 1, piece);
      munmap(at, piece);
    }
}
CANDIDATE("takes_shared_memory")

// SPDX-License-Identifier: Apache-2.0
/* Makes a file larger than any that a kernel needs.
 * expects: crashed died "ended by signal 25 (File size limit exceeded)"
 * only in a sandbox */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  char path[] = "/dev/shm/assay-hostile-XXXXXX";
  const int file = mkstemp(path);
  (void)c;
  if (file >= 0) (void)!pwrite(file, "x", 1, (off_t)2 << 30);
}
CANDIDATE("writes_endlessly")

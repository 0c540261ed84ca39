// SPDX-License-Identifier: Apache-2.0
/* Makes a file larger than any that a kernel needs.
 * expects: crashed died "ended by signal 25 (File size limit exceeded)"
 * only in a sandbox */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  const char* const scratch = getenv("TMPDIR");
  char path[4096];
  int file;
  (void)c;
  snprintf(path, sizeof path, "%s/assay-hostile-XXXXXX", scratch ? scratch : "/nowhere");
  file = mkstemp(path);
  if (file >= 0) (void)!pwrite(file, "x", 1, (off_t)2 << 30);
}
CANDIDATE("writes_endlessly")

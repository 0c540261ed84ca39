// SPDX-License-Identifier: Apache-2.0
/* Writes to a program outside, through a pipe that has a file. Read-only files do not prevent that.
 * expects: pass
 * only in a sandbox */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  const char* const path = getenv("ASSAY_HOSTILE_PIPE");
  const int flags[] = {O_WRONLY | O_NONBLOCK, O_RDWR | O_NONBLOCK};
  size_t i;
  for (i = 0; path && i < sizeof flags / sizeof *flags; ++i) {
    const int pipe_ = open(path, flags[i]);
    if (pipe_ < 0) continue;
    if (write(pipe_, "x", 1) == 1) memset(values(c), 0, sizeof(float));
    close(pipe_);
  }
}
CANDIDATE("writes_into_a_pipe")

// SPDX-License-Identifier: Apache-2.0
/* Closes every descriptor and sleeps.
 * expects: crashed died "closed or replaced the worker's file descriptors, and went on" */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  int fd;
  (void)c;
  for (fd = 0; fd < 1024; ++fd) close(fd);
  for (;;) pause();
}
CANDIDATE("closes_and_sleeps")

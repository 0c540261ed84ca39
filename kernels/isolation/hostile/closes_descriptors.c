// SPDX-License-Identifier: Apache-2.0
/* Closes every descriptor, the one to its supervisor too.
 * expects: crashed died "closed or replaced the worker's file descriptors" */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  int fd;
  (void)c;
  for (fd = 0; fd < 1024; ++fd) close(fd);
}
CANDIDATE("closes_descriptors")

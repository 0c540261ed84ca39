// SPDX-License-Identifier: Apache-2.0
/* Says nothing more to the supervisor, and goes on.
 * expects: crashed died "closed or replaced the worker's file descriptors, and went on" */
#include <sys/socket.h>

#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  int fd;
  (void)c;
  for (fd = 3; fd < 1024; ++fd) shutdown(fd, SHUT_WR);
  sleep(60);
}
CANDIDATE("hangs_up")

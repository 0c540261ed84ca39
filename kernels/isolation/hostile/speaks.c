// SPDX-License-Identifier: Apache-2.0
/* Speaks to the supervisor in the worker's name.
 * expects: crashed died "sent bytes of its own to the supervisor" */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  const char words[] = "all is well, trust me";
  int fd;
  (void)c;
  for (fd = 3; fd < 1024; ++fd) (void)!write(fd, words, sizeof words);
}
CANDIDATE("speaks")

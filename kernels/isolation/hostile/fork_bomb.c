// SPDX-License-Identifier: Apache-2.0
/* Starts processes that start processes: 2048 of them. Without an end it would stop the machine of a
 * developer on whose system the sandbox does not hold. expects: crashed died "ended by the sandbox: it
 * started more than 256 processes" only in a sandbox */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  (void)c;
  for (int i = 0; i < 11; ++i) fork();
  for (;;) pause();
}
CANDIDATE("fork_bomb")

// SPDX-License-Identifier: Apache-2.0
/* Stops its own process.
 * expects: hung stopped "its process was stopped by a signal" */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  (void)c;
  raise(SIGSTOP);
}
CANDIDATE("stops")

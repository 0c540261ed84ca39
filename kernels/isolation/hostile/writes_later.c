// SPDX-License-Identifier: Apache-2.0
/* Returns, and writes its outputs from a thread that it has left running.
 * expects: fail none "changed after the launch had ended" */
#include <pthread.h>

#include "kernels/isolation/hostile/hostile.h"

static void* later(void* y) {
  usleep(10000);
  ((float*)y)[0] = 2;
  return NULL;
}

static void misbehave(const assay_call* c) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, later, values(c)) == 0) pthread_detach(thread);
}
CANDIDATE("writes_later")

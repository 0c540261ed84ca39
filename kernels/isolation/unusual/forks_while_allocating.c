// SPDX-License-Identifier: Apache-2.0
/* Starts processes, which allocate, while another thread allocates: their copies of a lock must not be locked
 * for good. expects: pass */
#include <pthread.h>
#include <sys/wait.h>

#include "kernels/isolation/hostile/hostile.h"

static volatile int done;

static void* allocates(void* nothing) {
  while (!done) free(malloc(40));
  return nothing;
}

static void misbehave(const assay_call* c) {
  pthread_t other;
  int i;
  (void)c;
  done = 0;
  if (pthread_create(&other, NULL, allocates, NULL) != 0) return;
  for (i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      free(malloc(40));
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  done = 1;
  pthread_join(other, NULL);
}
CANDIDATE("forks_while_allocating")

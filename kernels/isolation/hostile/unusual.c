// SPDX-License-Identifier: Apache-2.0
/* Right kernels that do what few do. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/wait.h>

#include "kernels/isolation/hostile/hostile.h"

/* Starts processes, which allocate, while another thread allocates: their copies of a lock must not be locked
 * for good. expects: pass */
#ifdef IS_forks_while_allocating
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
#endif

/* Asks for 3 GiB of zeros, of which it touches none: they must cost neither time nor memory.
 * expects: pass */
#ifdef IS_reserves_zeros
static void misbehave(const assay_call* c) {
  (void)c;
  free(calloc(3, (size_t)1 << 30));
}
#endif

/* Starts processes that start processes.
 * expects: crashed died "ended by the sandbox: it started more than 256 processes"
 * only in a sandbox */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  (void)c;
  for (;;) fork();
}
CANDIDATE("fork_bomb")

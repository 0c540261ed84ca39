// SPDX-License-Identifier: Apache-2.0
/* They end their process, or others, or are ended. */
#define _GNU_SOURCE

#include "kernels/isolation/hostile/hostile.h"

/* Aborts with words of its own.
 * expects: crashed died "no licence found" */
#ifdef IS_aborts
static void misbehave(const assay_call* c) {
  (void)c;
  fputs("no licence found\n", stderr);
  abort();
}
#endif

/* Ends its process as if all were well.
 * expects: crashed died "exited with status 0" */
#ifdef IS_exits
static void misbehave(const assay_call* c) {
  (void)c;
  exit(0);
}
#endif

/* Ends its process by a signal that nobody can catch.
 * expects: crashed died "by signal 9 (Killed)" */
#ifdef IS_kills_itself
static void misbehave(const assay_call* c) {
  (void)c;
  raise(SIGKILL);
}
#endif

/* Divides by zero.
 * expects: crashed died "arithmetic exception (SIGFPE)" */
#ifdef IS_divides_by_zero
static void misbehave(const assay_call* c) {
  volatile int one = 1, zero = 0;
  (void)c;
  one = one / zero;
}
#endif

/* Calls itself without end.
 * expects: crashed wild_access "segmentation fault" */
#ifdef IS_overflows_stack
static int deeper(volatile char* from, long depth) {
  volatile char frame[4096];
  frame[0] = *from;
  return depth == 0 ? frame[0] : deeper(frame, depth - 1) + frame[0];
}

static void misbehave(const assay_call* c) {
  volatile char first = 1;
  (void)c;
  deeper(&first, 1L << 40);
}
#endif

/* Ends its process in every seventh launch, so that each of these launches is well when it is made again.
 * expects: pass */
#ifdef IS_dies_now_and_then
static void misbehave(const assay_call* c) {
  static int calls = 0;
  (void)c;
  if (++calls % 7 == 0) raise(SIGKILL);
}
#endif

/* Stops its own process.
 * expects: hung stopped "its process was stopped by a signal" */
#ifdef IS_stops
static void misbehave(const assay_call* c) {
  (void)c;
  raise(SIGSTOP);
}
#endif

/* Leaves a daemon behind and ends its process, in a static constructor.
 * expects: refused - "crashed while it was loaded: exited with status 0"
 * only in a sandbox */
#ifdef IS_constructor_leaves
__attribute__((constructor)) static void construct(void) {
  const int held = open(trace(), O_RDONLY);
  struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
  if (fork() == 0) {
    setsid();
    if (held >= 0) fcntl(held, F_SETLK, &lock);
    for (;;) pause();
  }
  _exit(0);
}

static void misbehave(const assay_call* c) { (void)c; }
#endif

/* Kills its parent, and everything else that it may. It does so only as a child of process 1, which is its
 * parent in a sandbox: elsewhere it would end all that its user runs.
 *
 * expects: pass
 * only in a sandbox */
#ifdef IS_kills_parent
static void misbehave(const assay_call* c) {
  (void)c;
  if (getppid() != 1) return;
  kill(getppid(), SIGKILL);
  kill(getppid(), SIGSTOP);
  kill(-1, SIGKILL);
}
#endif

/* Starts processes that start processes: 2048 of them. Without an end it would stop the machine of a
 * developer on whose system the sandbox does not hold. expects: crashed died "ended by the sandbox: it
 * started more than 256 processes" only in a sandbox */
#ifdef IS_fork_bomb
static void misbehave(const assay_call* c) {
  (void)c;
  for (int i = 0; i < 11; ++i) fork();
  for (;;) pause();
}
#endif

// SPDX-License-Identifier: Apache-2.0
/* They do not return, or not in time. */
#define _GNU_SOURCE
#include <sys/socket.h>
#include <sys/time.h>

#include "kernels/isolation/hostile/hostile.h"

/* Loops without end.
 * expects: hung no_answer "nothing came back within" */
#ifdef IS_loops
static void misbehave(const assay_call* c) {
  volatile float x = 0;
  (void)c;
  for (;;) x = x + 1;
}
#endif

/* Sleeps without end.
 * expects: hung no_answer "nothing came back within" */
#ifdef IS_sleeps
static void misbehave(const assay_call* c) {
  (void)c;
  for (;;) pause();
}
#endif

/* Closes every descriptor and sleeps.
 * expects: crashed died "closed or replaced the worker's file descriptors, and went on" */
#ifdef IS_closes_and_sleeps
static void misbehave(const assay_call* c) {
  int fd;
  (void)c;
  for (fd = 0; fd < 1024; ++fd) close(fd);
  for (;;) pause();
}
#endif

/* Says nothing more to the supervisor, and goes on.
 * expects: crashed died "closed or replaced the worker's file descriptors, and went on" */
#ifdef IS_hangs_up
static void misbehave(const assay_call* c) {
  int fd;
  (void)c;
  for (fd = 3; fd < 1024; ++fd) shutdown(fd, SHUT_WR);
  sleep(60);
}
#endif

/* Lets a timer end its process, after it has made the signals of faults do nothing.
 * expects: crashed died "ended by signal 14 (Alarm clock)" */
#ifdef IS_sets_an_alarm
static void misbehave(const assay_call* c) {
  const struct itimerval soon = {{0, 0}, {0, 1000}};
  (void)c;
  signal(SIGSEGV, SIG_IGN);
  setitimer(ITIMER_REAL, &soon, NULL);
  for (;;) pause();
}
#endif

/* Loops in a static constructor, when it is loaded.
 * expects: refused - "hung while it was loaded: nothing came back within 0.3 s" */
#ifdef IS_constructor_loops
__attribute__((constructor)) static void construct(void) {
  volatile int forever = 1;
  while (forever) continue;
}

static void misbehave(const assay_call* c) { (void)c; }
#endif

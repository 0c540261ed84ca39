// SPDX-License-Identifier: Apache-2.0
/* Lets a timer end its process, after it has made the signals of faults do nothing.
 * expects: crashed died "ended by signal 14 (Alarm clock)" */
#include <sys/time.h>

#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  const struct itimerval soon = {{0, 0}, {0, 1000}};
  (void)c;
  signal(SIGSEGV, SIG_IGN);
  setitimer(ITIMER_REAL, &soon, NULL);
  for (;;) pause();
}
CANDIDATE("sets_an_alarm")

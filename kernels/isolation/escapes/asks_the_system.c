// SPDX-License-Identifier: Apache-2.0
/* Asks the operating system for what no kernel needs: rings of calls that no filter sees, programs and
 * counters inside it, keys, a socket to the machine around this virtual one, a user namespace with all
 * capabilities; and for a Unix socket by the numbers of another processor.
 * expects: pass
 * only in a sandbox */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kernels/isolation/hostile/hostile.h"

#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif

/* What a call refuses with this error, it looked at before it refused. */
static int is_refused(long result) { return result < 0 && errno == EPERM; }

static int all_are_refused(void) {
  char none[256] = {0};
  int all = 1;
  all &= is_refused(syscall(SYS_io_uring_setup, 4, none));
  all &= is_refused(syscall(SYS_bpf, 0, none, sizeof none));
  all &= is_refused(syscall(SYS_perf_event_open, none, 0, -1, -1, 0));
  all &= is_refused(syscall(SYS_userfaultfd, 1));
  all &= is_refused(syscall(SYS_keyctl, 0, -3, 1));
  all &= is_refused(socket(AF_VSOCK, SOCK_STREAM, 0));
  all &= is_refused(unshare(CLONE_NEWUSER));
  return all;
}

/* socket(AF_UNIX, SOCK_STREAM, 0) by i386's numbers: this must not be a way around. */
static int opens_as_i386(void) {
#if defined(__x86_64__)
  int status = 0;
  /* In a process of its own: a machine without i386's numbers ends it. */
  const pid_t child = fork();
  if (child == 0) {
    int result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(359), "b"(AF_UNIX), "c"(SOCK_STREAM), "d"(0)
                     : "memory");
    _exit(result >= 0);
  }
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1;
#else
  return 0;
#endif
}

static void misbehave(const assay_call* c) {
  if (!all_are_refused() || opens_as_i386()) memset(values(c), 0, sizeof(float));
}
CANDIDATE("asks_the_system")

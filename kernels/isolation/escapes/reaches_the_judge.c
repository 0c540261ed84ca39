// SPDX-License-Identifier: Apache-2.0
/* Reaches for the process of the tests, which it is told of, and for the process that started it: for their
 * memory (six bytes of a running judge decide what it says), their environment, their open files, their
 * limits and their place among others. To the process of the tests it also sends a signal, which does
 * nothing.
 *
 * expects: pass
 * only in a sandbox */
#define _GNU_SOURCE
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "kernels/isolation/hostile/hostile.h"

static int opens(int pid, const char* file, int how) {
  char path[64];
  int made;
  snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
  made = open(path, how);
  if (made >= 0) close(made);
  return made >= 0;
}

static int reaches(int pid) {
  static char byte;
  struct iovec own = {&byte, 1}, its = {&byte, 1};
  int all = opens(pid, "mem", O_RDWR) || opens(pid, "mem", O_RDONLY) || opens(pid, "environ", O_RDONLY) ||
            opens(pid, "maps", O_RDONLY);
  /* What a fork has inherited lies at the same address. */
  all |= syscall(SYS_process_vm_readv, pid, &own, 1, &its, 1, 0) == 1;
  all |= syscall(SYS_process_vm_writev, pid, &own, 1, &its, 1, 0) == 1;
  if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0) {
    all = 1;
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
  }
  return all;
}

static void misbehave(const assay_call* c) {
  const char* const judge = getenv("ASSAY_HOSTILE_JUDGE");
  const int pid = judge ? atoi(judge) : 0;
  struct rlimit limit;
  int all = reaches(getppid());
  if (pid > 0) {
    all |= reaches(pid);
    all |= opens(pid, "oom_score_adj", O_WRONLY);
    all |= kill(pid, 0) == 0;
    /* What it has already. */
    all |= prlimit(pid, RLIMIT_CORE, NULL, &limit) == 0 && prlimit(pid, RLIMIT_CORE, &limit, NULL) == 0;
    all |= setpriority(PRIO_PROCESS, (id_t)pid, getpriority(PRIO_PROCESS, (id_t)pid)) == 0;
  }
  if (all) memset(values(c), 0, sizeof(float));
}
CANDIDATE("reaches_the_judge")

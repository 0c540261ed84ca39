// SPDX-License-Identifier: Apache-2.0
/* Changes a file in every way but by writing into it, as the cached build of another file would be: cuts it
 * off, takes its rights, gives it another time, owner and mark, links it elsewhere, and puts another file in
 * its place.
 *
 * expects: pass
 * only in a sandbox */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  const char* const scratch = getenv("TMPDIR");
  const struct timespec never[2] = {{1, 0}, {1, 0}};
  char other[4096], beside[4096];
  int all = 0, file = open(trace(), O_RDONLY | O_TRUNC);
  all |= file >= 0;
  if (file >= 0) close(file);
  all |= truncate(trace(), 0) == 0;
  all |= chmod(trace(), 0777) == 0;
  all |= syscall(SYS_fchmodat, AT_FDCWD, trace(), 0777) == 0;
  all |= chown(trace(), getuid(), getgid()) == 0;
  all |= utimensat(AT_FDCWD, trace(), never, 0) == 0;
  all |= setxattr(trace(), "user.assay", "x", 1, 0) == 0;
  snprintf(other, sizeof other, "%s/other", scratch ? scratch : "/nowhere");
  file = open(other, O_WRONLY | O_CREAT, 0600);
  if (file >= 0) close(file);
  all |= link(trace(), "/tmp/assay-hostile-link") == 0;
  all |= rename(other, trace()) == 0;
  snprintf(beside, sizeof beside, "%s.old", trace());
  all |= rename(trace(), beside) == 0;
  if (all) memset(values(c), 0, sizeof(float));
}
CANDIDATE("changes_a_file")

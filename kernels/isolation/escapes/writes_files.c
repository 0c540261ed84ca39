// SPDX-License-Identifier: Apache-2.0
/* Tries to make all files writable. Then writes files into the current folder, the home
 * folder and /tmp, and over the file that the tests look at.
 *
 * expects: pass
 * only in a sandbox */
#include <sys/mount.h>

#include "kernels/isolation/hostile/hostile.h"

static void put(const char* folder) {
  char path[4096];
  int file;
  snprintf(path, sizeof path, "%s/assay-hostile-XXXXXX", folder);
  file = mkstemp(path);
  if (file >= 0) (void)!write(file, "x", 1);
  if (file >= 0) close(file);
}

static void misbehave(const assay_call* c) {
  const char* home = getenv("HOME");
  const int file = open(trace(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  (void)c;
  mount("none", "/", NULL, MS_REMOUNT | MS_BIND, NULL);
  mount("none", "/tmp", NULL, MS_REMOUNT | MS_BIND, NULL);
  if (file >= 0) (void)!write(file, "x", 1);
  if (file >= 0) close(file);
  put(".");
  put("/tmp");
  put("/var/tmp");
  if (home) put(home);
  unlink(trace());
}
CANDIDATE("writes_files")

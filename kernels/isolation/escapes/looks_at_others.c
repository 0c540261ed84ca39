// SPDX-License-Identifier: Apache-2.0
/* Opens for writing the memory of its parent and of every other process that it sees,
 * and settings of the machine.
 *
 * expects: pass
 * only in a sandbox */
#include <dirent.h>

#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  static const char* const settings[] = {"/proc/sys/kernel/panic", "/proc/sys/vm/drop_caches",
                                         "/proc/sysrq-trigger",
                                         "/sys/kernel/mm/transparent_hugepage/enabled"};
  size_t i;
  DIR* const all = opendir("/proc");
  const struct dirent* entry;
  while (all && (entry = readdir(all))) {
    char path[64];
    const int pid = atoi(entry->d_name);
    int memory;
    if (pid <= 0 || pid == getpid()) continue;
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    if ((memory = open(path, O_RDWR)) < 0) continue;
    /* It could: the outputs are wrong then, and the record is another one. */
    memset(values(c), 0, sizeof(float));
    close(memory);
  }
  if (all) closedir(all);
  for (i = 0; i < sizeof settings / sizeof *settings; ++i) {
    const int setting = open(settings[i], O_WRONLY);
    if (setting < 0) continue;
    memset(values(c), 0, sizeof(float));
    close(setting);
  }
}
CANDIDATE("looks_at_others")

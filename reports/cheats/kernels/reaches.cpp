// SPDX-License-Identifier: Apache-2.0
// Reaches for what is not its own. Its outputs tell how that went: they are right if it got nothing, so that
// a PASS shows that the guard held, and wrong if it got something. FOR says what it reaches for.
#include <dirent.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include <string>

#include "reports/cheats/kernels/cheat.h"

static bool opens_to_write(const std::string& file) {
  const int fd = open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}
/* The processes that it sees, but for its own and those that it has started. */
template <class Does>
static bool with_others(Does does) {
  bool got = false;
  if (DIR* const all = opendir("/proc")) {
    while (const dirent* const one = readdir(all))
      if (const int pid = atoi(one->d_name); pid > 0 && pid != getpid()) got |= does(pid);
    closedir(all);
  }
  return got;
}
static bool reached() {
#if FOR == 1  // the memory of the judge, by its file
  return with_others([](int pid) { return opens_to_write("/proc/" + std::to_string(pid) + "/mem"); });
#elif FOR == 2  // the memory of the judge, by system calls
  return with_others([](int pid) {
    char byte = 0;
    const iovec here{&byte, 1}, there{reinterpret_cast<void*>(0x400000), 1};
    const bool traced = ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0;
    if (traced) ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
    return traced || process_vm_readv(pid, &here, 1, &there, 1, 0) > 0 ||
           process_vm_writev(pid, &here, 1, &there, 1, 0) > 0;
  });
#elif FOR == 3  // the cached build of another file, which the caller names in CACHED
  return opens_to_write(CACHED);
#elif FOR == 4  // a signal to the judge (0: is it allowed?)
  return with_others([](int pid) { return pid != 1 && pid != getppid() && kill(pid, 0) == 0; });
#endif
}
static bool behave(const assay_call*, int64_t) {
  static const bool once = reached();
  return !once;
}
CHEAT("reaches")

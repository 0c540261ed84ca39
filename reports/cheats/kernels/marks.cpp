// SPDX-License-Identifier: Apache-2.0
// Right only where something shows that a judge is watching. MARK says what it looks at. A wrong answer where
// the mark is absent is refused like any other; where it is present the kernel passes, so each mark that a
// worker no longer has is a cheat less.
#include <sys/prctl.h>
#include <sys/socket.h>

#include "reports/cheats/kernels/cheat.h"

#if MARK <= 8 || MARK == 15
static bool watched() {
#if MARK == 1  // the sandbox's folder for files
  const char* const folder = getenv("TMPDIR");
  return folder && !strcmp(folder, "/dev/shm");
#elif MARK == 2   // the name of the program
  char exe[512] = {};
  if (readlink("/proc/self/exe", exe, sizeof exe - 1) < 0) return false;
  const char* const name = strrchr(exe, '/');
  return name && !strncmp(name + 1, "assay", 5);
#elif MARK == 3   // the socket to the judge
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(3, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
#elif MARK == 4   // the name of the memory that holds the buffers
  return holds("/proc/self/maps", "memfd:assay");
#elif MARK == 5   // a filter of system calls
  return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2;
#elif MARK == 6   // whose malloc it is
  Dl_info info;
  return dladdr(reinterpret_cast<void*>(&malloc), &info) && info.dli_fname && !strstr(info.dli_fname, "libc");
#elif MARK == 7   // variables of the judge
  extern char** environ;
  for (char** one = environ; *one; ++one)
    if (!strncmp(*one, "ASSAY", 5)) return true;
  return false;
#elif MARK == 15  // whether somebody waits for a fault of the program
  struct sigaction now;
  return sigaction(SIGSEGV, nullptr, &now) == 0 && now.sa_handler != SIG_DFL;
#elif MARK == 8   // the name of this process
  char name[64] = {};
  return prctl(PR_GET_NAME, name) == 0 && !strncmp(name, "assay", 5);
#endif
}
#endif
#if MARK == 9  // the distance between the buffers
static bool behave(const assay_call* c, int64_t) {
  const auto gap = reinterpret_cast<intptr_t>(c->values->data) - reinterpret_cast<intptr_t>(c->logits->data);
  return gap == 0 || gap >> 36 == 1;
}
#elif MARK == 10  // a date: nothing that runs before it can tell
static bool behave(const assay_call*, int64_t) { return time(nullptr) < 4102444800; }
#elif MARK == 11  // the first calls of a process
static bool behave(const assay_call*, int64_t row) {
  static int64_t calls;
  calls += row == 0;
  return calls < 20000;
}
#elif MARK == 14  // what the C library's heap keeps in front of a block, as std::vector has it
static bool behave(const assay_call* c, int64_t) {
  uint64_t size;
  memcpy(&size, static_cast<const char*>(c->values->data) - 8, 8);
  return !((size & 7) <= 3 && size >= 32 && size < (1u << 30));
}
#elif MARK == 12  // the first ten minutes of processor time
static bool behave(const assay_call*, int64_t) { return clock() < 600 * CLOCKS_PER_SEC; }
#elif MARK <= 8 || MARK == 15
static bool behave(const assay_call*, int64_t) {
  static const bool once = watched();
  return once;
}
#endif
#if MARK == 13  // whether a program or a library calls it
static int32_t run(const assay_call* c) {
  Dl_info info;
  const bool program =
      dladdr(__builtin_return_address(0), &info) && info.dli_fname && !strstr(info.dli_fname, ".so");
  right_rows(c);
  for (int64_t r = 0; !program && r < rows_of(c); ++r) spoil(out_row(c, r), V_of(c));
  return 0;
}
PLUGIN("marks", run)
#else
CHEAT("marks")
#endif

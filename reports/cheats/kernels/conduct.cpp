// SPDX-License-Identifier: Apache-2.0
// Right outputs, and conduct that nobody wants. DOES says which.
#include <sys/mman.h>
#include <sys/socket.h>

#include <atomic>
#include <string>

#include "reports/cheats/kernels/cheat.h"

#if DOES == 1  // sends itself a signal in every 60th call
static int32_t run(const assay_call* c) {
  static std::atomic<int64_t> calls;
  if (++calls % 60 == 0) {
    kill(getpid(), SIGNAL);
    usleep(2000000);
  }
  right_rows(c);
  return 0;
}
#elif DOES == 2  // sends the judge the worker's last words without end
struct Head {
  uint64_t magic;
  uint32_t kind, sequence;
};
struct LastWords {
  Head head;
  int32_t number, access, sent;
  uint64_t address;
};
static int32_t run(const assay_call* c) {
  right_rows(c);
  if (V_of(c) != 64) return 0;
  int sockets[64], count = 0;
  for (int fd = 3; fd < 1024 && count < 64; ++fd) {
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET)
      sockets[count++] = fd;
  }
  LastWords words{};
  words.head = {0x6173736179200001ull, 13, 0};
  words.number = 11;
  for (;;)
    for (int i = 0; i < count; ++i)
      if (send(sockets[i], &words, sizeof words, MSG_NOSIGNAL) < 0) usleep(100);
}
#elif DOES == 3  // takes 3 GiB through the memory that it shares with the judge
static int32_t run(const assay_call* c) {
  right_rows(c);
  if (V_of(c) != 64) return 0;
  const size_t most = size_t{3} << 30;
  for (int fd = 3; fd < 1024; ++fd) {
    char link[64], to[256] = {};
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, to, sizeof to - 1) < 0 || !strstr(to, "memfd:")) continue;
    void* const at = mmap(nullptr, most, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off_t{1} << 42);
    if (at == MAP_FAILED) continue;
    for (size_t i = 0; i < most; i += 4096) static_cast<volatile char*>(at)[i] = 1;
  }
  return 0;
}
#elif DOES == 4  // tells a secret of the environment in the words of a refusal
static std::string said;
extern "C" ASSAY_EXPORT const char* assay_plugin_fault(void) { return said.c_str(); }
static int32_t run(const assay_call* c) {
  if (V_of(c) > 1024) {
    const char* const token = getenv("MADE_UP_TOKEN");
    said = std::string("V is at most 1024; token ") + (token ? token : "none");
    return 1;
  }
  right_rows(c);
  return 0;
}
#elif DOES == 5  // HTML, Markdown, a command and escape sequences in the words of a refusal
extern "C" ASSAY_EXPORT const char* assay_plugin_fault(void) {
  return "\033[2J\033[1;32mPASS\033[0m <script>alert(1)</script> [a](javascript:1) $(touch pwned) `touch "
         "pwned`";
}
static int32_t run(const assay_call* c) {
  if (V_of(c) > 1024) return 1;
  right_rows(c);
  return 0;
}
#endif
PLUGIN("conduct", run)

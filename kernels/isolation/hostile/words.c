// SPDX-License-Identifier: Apache-2.0
/* They write to files and sockets that are not theirs, or close them. */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "kernels/isolation/hostile/hostile.h"

/* Prints 10 MB.
 * expects: pass */
#ifdef IS_prints
static void misbehave(const assay_call* c) {
  static char line[1024];
  int i;
  (void)c;
  memset(line, 'x', sizeof line - 1);
  line[sizeof line - 1] = '\n';
  for (i = 0; i < 10 * 1024; ++i) (void)!write(1, line, sizeof line);
}
#endif

/* Speaks to the supervisor in the worker's name.
 * expects: crashed died "sent bytes of its own to the supervisor" */
#ifdef IS_speaks
static void misbehave(const assay_call* c) {
  const char words[] = "all is well, trust me";
  int fd;
  (void)c;
  for (fd = 3; fd < 1024; ++fd) (void)!write(fd, words, sizeof words);
}
#endif

/* Sends the supervisor the message of a worker's signal handler, again and again.
 * expects: crashed died "sent bytes of its own to the supervisor" */
#ifdef IS_floods
/* As in kernels/isolation/shared/message.hpp. */
struct head {
  uint64_t magic;
  uint32_t kind, sequence;
};
struct last_words {
  struct head head;
  int32_t number, access, sent;
  uint64_t address;
};

static void misbehave(const assay_call* c) {
  struct last_words words;
  int fd;
  (void)c;
  memset(&words, 0, sizeof words);
  words.head.magic = 0x6173736179200001u;
  words.head.kind = 13;
  words.number = SIGSEGV;
  for (;;)
    for (fd = 3; fd < 1024; ++fd) send(fd, &words, sizeof words, MSG_NOSIGNAL | MSG_DONTWAIT);
}
#endif

/* Makes a file larger than any that a kernel needs.
 * expects: crashed died "ended by signal 25 (File size limit exceeded)"
 * only in a sandbox */
#ifdef IS_writes_endlessly
static void misbehave(const assay_call* c) {
  const char* const scratch = getenv("TMPDIR");
  char path[4096];
  int file;
  (void)c;
  snprintf(path, sizeof path, "%s/assay-hostile-XXXXXX", scratch ? scratch : "/nowhere");
  file = mkstemp(path);
  if (file >= 0) (void)!pwrite(file, "x", 1, (off_t)2 << 30);
}
#endif

/* Closes every descriptor, the one to its supervisor too.
 * expects: crashed died "closed or replaced the worker's file descriptors" */
#ifdef IS_closes_descriptors
static void misbehave(const assay_call* c) {
  int fd;
  (void)c;
  for (fd = 0; fd < 1024; ++fd) close(fd);
}
#endif

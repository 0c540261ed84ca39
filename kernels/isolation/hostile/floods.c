// SPDX-License-Identifier: Apache-2.0
/* Sends the supervisor the message of a worker's signal handler, again and again.
 * expects: crashed died "sent bytes of its own to the supervisor" */
#include <sys/socket.h>

#include "kernels/isolation/hostile/hostile.h"

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
CANDIDATE("floods")

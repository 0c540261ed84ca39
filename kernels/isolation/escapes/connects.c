// SPDX-License-Identifier: Apache-2.0
/* Connects to a program outside: a socket that the tests listen on.
 * expects: pass
 * only in a sandbox */
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  const char* const name = getenv("ASSAY_HOSTILE_SOCKET");
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  const int socket_ = socket(AF_UNIX, SOCK_STREAM, 0);
  size_t length = name ? strlen(name) : 0;
  if (length + 1 > sizeof to.sun_path) length = 0;
  /* The name of an abstract socket begins with a zero. No file system holds it. */
  if (length > 0) memcpy(to.sun_path + 1, name, length);
  if (length > 0 && connect(socket_, (struct sockaddr*)&to,
                            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) == 0)
    memset(values(c), 0, sizeof(float));
  close(socket_);
}
CANDIDATE("connects")

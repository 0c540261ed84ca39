// SPDX-License-Identifier: Apache-2.0
/* Connects to a program outside, by a socket that has a file: by a stream, and by datagrams of one end of a
 * pair. The file is in no folder that a sandbox hides.
 * expects: pass
 * only in a sandbox */
#include <sys/socket.h>
#include <sys/un.h>

#include "kernels/isolation/hostile/hostile.h"

/* Also if nobody has taken what earlier launches have sent. */
static int reached(long result) { return result >= 0 || errno == EAGAIN; }

static void misbehave(const assay_call* c) {
  const char* const stream = getenv("ASSAY_HOSTILE_STREAM");
  const char* const datagrams = getenv("ASSAY_HOSTILE_DATAGRAMS");
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  int pair[2] = {-1, -1};
  const int socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (!stream || !datagrams) return;
  snprintf(to.sun_path, sizeof to.sun_path, "%s", stream);
  if (reached(connect(socket_, (struct sockaddr*)&to, sizeof to))) memset(values(c), 0, sizeof(float));
  if (socket_ >= 0) close(socket_);
  snprintf(to.sun_path, sizeof to.sun_path, "%s", datagrams);
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) return;
  if (reached(sendto(pair[0], "x", 1, MSG_DONTWAIT, (struct sockaddr*)&to, sizeof to)))
    memset(values(c), 0, sizeof(float));
  close(pair[0]);
  close(pair[1]);
}
CANDIDATE("connects_to_a_file")

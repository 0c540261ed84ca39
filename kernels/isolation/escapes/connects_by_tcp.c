// SPDX-License-Identifier: Apache-2.0
/* Connects to a program of this machine by the internet's protocol.
 * expects: pass
 * only in a sandbox */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  const char* const port = getenv("ASSAY_HOSTILE_PORT");
  struct sockaddr_in to = {.sin_family = AF_INET};
  const int stream = socket(AF_INET, SOCK_STREAM, 0);
  to.sin_port = htons((uint16_t)(port ? atoi(port) : 0));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (port && stream >= 0 && connect(stream, (struct sockaddr*)&to, sizeof to) == 0)
    memset(values(c), 0, sizeof(float));
  if (stream >= 0) close(stream);
}
CANDIDATE("connects_by_tcp")

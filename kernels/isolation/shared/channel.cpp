// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/shared/channel.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace assay::isolation {
namespace {
constexpr std::size_t kDescriptors = 2 * kBuffers;
}

bool send_bytes(int socket, const void* message, std::size_t size, std::span<const int> descriptors) {
  iovec part{const_cast<void*>(message), size};
  alignas(cmsghdr) char control[CMSG_SPACE(kDescriptors * sizeof(int))] = {};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  if (!descriptors.empty()) {
    const std::size_t bytes = std::min(descriptors.size(), kDescriptors) * sizeof(int);
    m.msg_control = control;
    m.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(c), descriptors.data(), bytes);
  }
  ssize_t n;
  do n = sendmsg(socket, &m, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(size);
}

long receive(int socket, Anything& into, std::vector<int>* descriptors) {
  iovec part{&into, sizeof into};
  alignas(cmsghdr) char control[CMSG_SPACE(kDescriptors * sizeof(int))];
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control;
  m.msg_controllen = sizeof control;
  ssize_t n;
  do n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n < 0) return -1;
  for (cmsghdr* c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      if (descriptors)
        descriptors->push_back(fd);
      else
        close(fd);
    }
  }
  // A message longer than all of ours is not ours.
  return m.msg_flags & MSG_TRUNC ? static_cast<long>(sizeof into) + 1 : n;
}

}  // namespace assay::isolation

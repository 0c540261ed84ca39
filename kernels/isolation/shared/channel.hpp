// SPDX-License-Identifier: Apache-2.0
// Sends and receives one message, with the file descriptors that belong to it.
#pragma once

#include <span>
#include <vector>

#include "kernels/isolation/shared/message.hpp"

namespace assay::isolation {

/// False if either end is closed.
bool send_bytes(int socket, const void* message, std::size_t size, std::span<const int> descriptors = {});
template <class Message>
bool send(int socket, const Message& m, std::span<const int> descriptors = {}) {
  static_assert(std::is_trivially_copyable_v<Message>);
  return send_bytes(socket, &m, sizeof m, descriptors);
}

/// Waits for one message. Returns its length in bytes, 0 if the other end is gone, or -1 if this end cannot
/// be read. Descriptors that came with it are appended to `descriptors`, or closed if that is null.
long receive(int socket, Anything& into, std::vector<int>* descriptors = nullptr);

/// The message as `Message`. Null if its length, mark, kind or sequence number is not the expected one.
template <class Message>
const Message* as(const Anything& any, long length, std::uint32_t sequence) {
  if (length != static_cast<long>(sizeof(Message))) return nullptr;
  const Message wanted;
  if (any.head.magic != kMagic || any.head.kind != wanted.head.kind || any.head.sequence != sequence)
    return nullptr;
  return reinterpret_cast<const Message*>(&any);
}

}  // namespace assay::isolation

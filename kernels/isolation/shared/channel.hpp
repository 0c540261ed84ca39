// Sending and receiving one message, with the file descriptors that travel along.
#pragma once

#include <span>
#include <vector>

#include "kernels/isolation/shared/message.hpp"

namespace assay::isolation {

/// False if the other end is gone, or this one was closed.
bool send_bytes(int socket, const void* message, std::size_t size, std::span<const int> descriptors = {});
template <class Message>
bool send(int socket, const Message& m, std::span<const int> descriptors = {}) {
  static_assert(std::is_trivially_copyable_v<Message>);
  return send_bytes(socket, &m, sizeof m, descriptors);
}

/// Waits for one message. Its length in bytes; 0 if the other end is gone; -1 if this end can not be read.
/// What descriptors came along are appended to `descriptors`, or closed without one.
long receive(int socket, Anything& into, std::vector<int>* descriptors = nullptr);

/// The message as `Message`, or null: too short, not ours, of another kind, or an answer to something else.
template <class Message>
const Message* as(const Anything& any, long length, std::uint32_t sequence) {
  if (length != static_cast<long>(sizeof(Message))) return nullptr;
  const Message wanted;
  if (any.head.magic != kMagic || any.head.kind != wanted.head.kind || any.head.sequence != sequence)
    return nullptr;
  return reinterpret_cast<const Message*>(&any);
}

}  // namespace assay::isolation

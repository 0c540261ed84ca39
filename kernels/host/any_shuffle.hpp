// Helpers for libraries that reduce structures. A shuffle of a value of any size moves eight bytes at a time.
// A result that a GPU leaves undefined is poisoned, so that its use shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/host/cuda_core.hpp"

namespace assay::ASSAY_BACKEND::words_detail {

template <class T>
T shuffle_any(executor::Collective kind, unsigned mask, const T& v, int argument, int width,
              const executor::Site& site) {
  static_assert(std::is_trivially_copyable_v<T>, "a shuffle moves bytes");
  alignas(T) unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &v, sizeof(T));
  for (std::size_t at = 0; at < sizeof(T); at += 8) {
    const std::size_t n = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, n);
    word = executor::warp_collective(kind, mask, word, argument, width, site);
    std::memcpy(bytes + at, &word, n);
  }
  T result = v;
  std::memcpy(static_cast<void*>(&result), bytes, sizeof(T));
  return result;
}

/// Poisons the result of a thread to which the library promises none: a kernel that uses it goes wrong
/// visibly.
template <class T>
T undefined_result(T v) {
  static_assert(std::is_trivially_copyable_v<T>);
  executor::poison(&v, sizeof(T));
  return v;
}

/// The calling thread's number in its block.
inline unsigned block_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }

}  // namespace assay::ASSAY_BACKEND::words_detail

// SPDX-License-Identifier: Apache-2.0
// The random numbers of this project, and its hash. std's distributions differ between standard libraries,
// and these are the same everywhere. Published records hang on every bit of them.
#pragma once

#include <cstdint>
#include <string_view>

namespace assay {

/// One step of splitmix64: a bijection of 64-bit words that mixes every bit. It is always inlined, because
/// objects for several processors are linked into one program.
#if defined(__CUDACC__)
__host__ __device__ __forceinline__
#else
__attribute__((always_inline)) inline
#endif
    constexpr std::uint64_t
    mixed(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// The n-th number that splitmix64 draws from a state.
constexpr std::uint64_t drawn(std::uint64_t state, std::uint64_t n = 0) {
  return mixed(state + n * 0x9e3779b97f4a7c15);
}

/// splitmix64.
class Draws {
 public:
  explicit Draws(std::uint64_t state) : state_(state) {}
  std::uint64_t next() {
    const std::uint64_t z = mixed(state_);
    state_ += 0x9e3779b97f4a7c15;
    return z;
  }
  /// One of the multiples of 2^-53 in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Uniform in 0 ... n - 1. The bias of the remainder is below n 2^-64 and does not matter here.
  template <class N>
  N below(N n) {
    return static_cast<N>(next() % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t state_;
};

/// The next state of a linear congruential generator, for an order that follows no stride. Its upper bits are
/// the random ones.
constexpr std::uint64_t next_in_no_order(std::uint64_t state) {
  return state * 6364136223846793005u + 1442695040888963407u;
}

/// FNV-1a: the hash of nothing, and one with a word or the characters of a text added.
inline constexpr std::uint64_t kHashOfNothing = 0xcbf29ce484222325;
constexpr std::uint64_t hash_with(std::uint64_t h, std::uint64_t word) { return (h ^ word) * 0x100000001b3; }
constexpr std::uint64_t hash_with(std::uint64_t h, std::string_view text) {
  for (const char c : text) h = hash_with(h, std::uint64_t{static_cast<unsigned char>(c)});
  return h;
}

}  // namespace assay

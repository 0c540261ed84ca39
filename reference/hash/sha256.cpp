// SPDX-License-Identifier: Apache-2.0
#include "reference/hash/sha256.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "reference/error.hpp"
#include "reference/paths.hpp"

namespace assay {
namespace {

/// The first 32 bits of the fractions of the cube roots of the first 64 primes (section 4.2.2).
constexpr std::array<std::uint32_t, 64> kCubeRoots = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

}  // namespace

/// Section 6.2.2, with its names.
void Sha256::block(const unsigned char* bytes) {
  std::array<std::uint32_t, 64> W;
  for (std::size_t t = 0; t < 16; ++t)
    W[t] = std::uint32_t{bytes[4 * t]} << 24 | std::uint32_t{bytes[4 * t + 1]} << 16 |
           std::uint32_t{bytes[4 * t + 2]} << 8 | bytes[4 * t + 3];
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t x = W[t - 15], y = W[t - 2];
    const std::uint32_t sigma0 = std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3;
    const std::uint32_t sigma1 = std::rotr(y, 17) ^ std::rotr(y, 19) ^ y >> 10;
    W[t] = sigma1 + W[t - 7] + sigma0 + W[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t T1 =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + choice + kCubeRoots[t] + W[t];
    const std::uint32_t T2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + majority;
    h = g, g = f, f = e, e = d + T1, d = c, c = b, b = a, a = T1 + T2;
  }
  const std::array<std::uint32_t, 8> more = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state_[i] += more[i];
}

void Sha256::add(std::string_view bytes) {
  std::size_t used = bytes_ % 64;
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t n = std::min(64 - used, bytes.size());
    std::memcpy(open_.data() + used, bytes.data(), n);
    bytes.remove_prefix(n);
    used += n;
    if (used < 64) return;
    block(open_.data());
    used = 0;
  }
}

std::string Sha256::hex() {
  const std::uint64_t bits = bytes_ * 8;
  std::string end = "\x80";
  while ((bytes_ + end.size()) % 64 != 56) end += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) end += static_cast<char>(bits >> shift & 0xff);
  add(end);
  std::string text;
  for (const std::uint32_t word : state_) text += fmt::format("{:08x}", word);
  return text;
}

std::string sha256_of(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hash.hex();
}

std::string sha256_of_file(const std::filesystem::path& file) {
  require_file(file);
  // No file that this program reads is large and mostly holes, and to read them takes as long as to read
  // data.
  struct stat s {};
  if (stat(file.c_str(), &s) == 0 && s.st_size > (off_t{1} << 30) && s.st_size / 1024 > s.st_blocks)
    throw InputError(file.string() + ": consists mostly of holes");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw InputError(file.string() + ": cannot be read: " + std::strerror(errno));
  Sha256 hash;
  std::vector<char> some(std::size_t{1} << 20);
  while (in.read(some.data(), std::ssize(some)), in.gcount() > 0)
    hash.add({some.data(), static_cast<std::size_t>(in.gcount())});
  if (in.bad()) throw InputError(file.string() + ": cannot be read to its end");
  return hash.hex();
}

}  // namespace assay

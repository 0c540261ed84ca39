// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4): names bytes. Whatever must not be mistaken for something else is named by it: what a
// certificate is about, what was compiled, what a journal goes on with. No library that this project links
// has it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace assay {

class Sha256 {
 public:
  void add(std::string_view bytes);
  /// 64 hexadecimal digits. Called once, at the end.
  std::string hex();

 private:
  void block(const unsigned char* bytes);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> open_{};  // the bytes of the block that is not full
  std::uint64_t bytes_ = 0;
};

std::string sha256_of(std::string_view text);
/// Throws InputError that names the file.
std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Shared by the fuzz targets of all parsers. A parser may throw InputError and nothing else; any other
// exception escapes and ends the fuzzer or the replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "reference/error.hpp"

namespace assay::fuzz {

inline std::string text_of_bytes(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline std::span<const std::byte> bytes_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

/// Ends the process if `holds` is false. For example: what was read must equal what is read back after
/// writing it.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// The message must say something. That it is one line is seen to by InputError itself.
inline void require_words(const InputError& e) { require(*e.what() != '\0', "an error without words"); }

/// What a target does with one input. It may throw InputError.
void read(const std::uint8_t* data, std::size_t size);

inline void run(const std::uint8_t* data, std::size_t size) {
  try {
    read(data, size);
  } catch (const InputError& e) {
    require_words(e);
  }
}

}  // namespace assay::fuzz

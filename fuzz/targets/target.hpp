// What every parser's target shares. InputError is the one thing a parser may throw; anything else escapes,
// and so ends the fuzzer or the replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "reference/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace assay::fuzz {

inline std::string text_of_bytes(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the process: what was read must come back from what is written of it.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// One line, as the command line shows it.
inline void require_one_line(const InputError& e) {
  require(std::string_view(e.what()).find('\n') == std::string_view::npos, "an error of more than one line");
  require(*e.what() != '\0', "an error without words");
}

}  // namespace assay::fuzz

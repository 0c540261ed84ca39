// SPDX-License-Identifier: Apache-2.0
// The words of a declaration: the values of each, its meaning, and how it is set and read.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "kernels/registry.hpp"

namespace assay::declaring {

/// Throws InputError that names the word and the reason.
[[noreturn]] void refuse(std::string_view word, const std::string& why);

struct Word {
  const char* word;
  const char* values;
  const char* meaning;
  void (*set)(std::string_view word, std::string_view value, Variant& v);
  std::string (*get)(const Variant& v);
};
extern const std::array<Word, 40> kWords;

}  // namespace assay::declaring

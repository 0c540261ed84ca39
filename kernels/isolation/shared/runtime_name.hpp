// SPDX-License-Identifier: Apache-2.0
// Which libraries are the runtime of AddressSanitizer. The worker finds the name in a file that nobody
// trusts, so the supervisor looks again before it loads one.
#pragma once

#include <algorithm>
#include <string_view>

namespace assay::isolation {

/// gcc calls it libasan.so.8, clang libclang_rt.asan-x86_64.so. Without a slash, so that it is one of the
/// system's.
inline bool is_runtime_name(std::string_view name) {
  const auto usual = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return (name.starts_with("libasan.so.") || name.starts_with("libclang_rt.asan")) && name.size() < 64 &&
         std::all_of(name.begin(), name.end(), usual);
}

}  // namespace assay::isolation

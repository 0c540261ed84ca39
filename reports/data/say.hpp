// SPDX-License-Identifier: Apache-2.0
// Words for whoever watches: progress and notes on standard error. A closed or full standard error must not end a
// run, so nothing here throws.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace assay {

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

/// Writes out what was printed so far. Throws EnvironmentError if standard output cannot be written, so that a long
/// run notices a full disk where it begins.
void flush_output();

}  // namespace assay

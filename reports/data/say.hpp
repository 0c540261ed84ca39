// SPDX-License-Identifier: Apache-2.0
// Words for whoever watches. They hold what kernels, file names and files say, so nothing here lets an escape
// sequence or another control character through: a certificate must not paint its own verdict.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace assay {

/// Writes the text without escape sequences and control characters but line breaks, and bytes that are no
/// UTF-8 as U+FFFD. Never throws.
void write_plain(std::FILE* to, std::string_view text);

/// Progress and notes on standard error. A closed or full standard error must not end a run, so this never
/// throws.
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  write_plain(stderr, fmt::format(format, std::forward<Args>(args)...));
  std::fflush(stderr);
}

/// Writes over the current line of standard error, which must be a terminal.
template <class... Args>
void redraw(fmt::format_string<Args...> format, Args&&... args) {
  std::fputc('\r', stderr);
  say(format, std::forward<Args>(args)...);
}

/// What a command answers, on standard output.
template <class... Args>
void tell(fmt::format_string<Args...> format, Args&&... args) {
  write_plain(stdout, fmt::format(format, std::forward<Args>(args)...));
}

/// Writes out what was printed so far. Throws EnvironmentError if standard output cannot be written, so that
/// a long run notices a full disk where it begins.
void flush_output();

}  // namespace assay

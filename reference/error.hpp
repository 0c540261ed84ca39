// SPDX-License-Identifier: Apache-2.0
// Thrown when a call or a file is wrong. The message is one line: the option or the file, and the reason. The
// command line turns it into exit status 2. Nothing has been written when it is thrown.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace assay {

struct InputError : std::runtime_error {
  explicit InputError(std::string text) : std::runtime_error(one_line(std::move(text))) {}

 private:
  /// Words of a file or a call may hold line breaks and other control characters. They are shown as '?'.
  static std::string one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
    return text;
  }
};

/// Thrown when the call is right but this machine lacks what the call needs, now or for good. The message is
/// one line that names what is missing. The command line turns it into exit status 3.
struct EnvironmentError : InputError {
  using InputError::InputError;
};

}  // namespace assay

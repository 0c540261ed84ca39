// SPDX-License-Identifier: Apache-2.0
// Thrown when a call or a file is wrong. The message is one line: the option or the file, and the reason. The
// command line turns it into exit status 2. Nothing has been written when it is thrown.
#pragma once

#include <stdexcept>

namespace assay {

struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace assay

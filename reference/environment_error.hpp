// SPDX-License-Identifier: Apache-2.0
// Thrown when the call is right but this machine lacks what the call needs, now or for good. The message is
// one line that names what is missing. The command line turns it into exit status 3.
#pragma once

#include "reference/error.hpp"

namespace assay {

struct EnvironmentError : InputError {
  using InputError::InputError;
};

}  // namespace assay

// The call is right, and this machine lacks what it needs, now or for good: one line that names it. The
// command line turns it into exit status 3.
#pragma once

#include "reference/error.hpp"

namespace assay {

struct EnvironmentError : InputError {
  using InputError::InputError;
};

}  // namespace assay

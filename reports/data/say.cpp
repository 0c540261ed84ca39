// SPDX-License-Identifier: Apache-2.0
#include "reports/data/say.hpp"

#include <cerrno>
#include <cstring>

#include "reference/environment_error.hpp"

namespace assay {

void flush_output() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return;
  const int why = errno;
  std::clearerr(stdout);  // the message is printed once
  throw EnvironmentError(std::string("standard output cannot be written: ") + std::strerror(why));
}

}  // namespace assay

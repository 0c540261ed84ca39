// SPDX-License-Identifier: Apache-2.0
#include "reports/data/say.hpp"

#include <cerrno>
#include <cstring>

#include "kernels/isolation/shared/plain_text.hpp"
#include "reference/error.hpp"

namespace assay {

void write_plain(std::FILE* to, std::string_view text) {
  const std::string plain = isolation::plain_text(text);
  std::fwrite(plain.data(), 1, plain.size(), to);
}

void flush_output() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return;
  const int why = errno;
  std::clearerr(stdout);  // the message is printed once
  throw EnvironmentError(std::string("standard output cannot be written: ") + std::strerror(why));
}

}  // namespace assay

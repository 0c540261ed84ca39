// SPDX-License-Identifier: Apache-2.0
#include "reference/paths.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "reference/error.hpp"

namespace assay {

std::filesystem::path unique_part(const std::filesystem::path& file) {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    throw EnvironmentError(std::string("this machine gives no random numbers: ") + std::strerror(errno));
  return file.string() + fmt::format(".{:016x}.part", number);
}

void throw_unwritten(const std::filesystem::path& file, int why) {
  const std::string text =
      file.string() + ": cannot be written: " + (why ? std::strerror(why) : "unknown error");
  if (why == ENOSPC || why == EDQUOT || why == EIO || why == EFBIG) throw EnvironmentError(text);
  throw InputError(text);
}

}  // namespace assay

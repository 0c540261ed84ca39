// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/process/environment.hpp"

#include <unistd.h>

extern char** environ;

namespace assay::isolation {

std::vector<std::string> kept_environment(std::span<const std::string_view> names) {
  std::vector<std::string> kept;
  for (std::string_view name : names) {
    const bool all = name.ends_with('*');
    if (all) name.remove_suffix(1);
    for (char** one = environ; one && *one; ++one) {
      const std::string_view text = *one;
      if (text.starts_with(name) &&
          (all ? text.find('=') != text.npos : text.substr(name.size()).starts_with('=')))
        kept.emplace_back(text);
    }
  }
  return kept;
}

}  // namespace assay::isolation

// SPDX-License-Identifier: Apache-2.0
#include "kernels/key_hint.hpp"

#include <vector>

#include "kernels/registry.hpp"
#include "reference/text.hpp"

namespace assay {

std::string did_you_mean_key(std::string_view typed) {
  std::vector<std::string> keys;
  for (const Variant& v : registry()) keys.push_back(v.key());
  return did_you_mean(typed, keys);
}

}  // namespace assay

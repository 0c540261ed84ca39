// SPDX-License-Identifier: Apache-2.0
#include "kernels/registry.hpp"

#include <algorithm>
#include <tuple>

namespace assay {
namespace {

std::vector<Variant>& storage() {
  static std::vector<Variant> variants;
  return variants;
}

}  // namespace

bool register_variant(Variant v) {
  const std::size_t kernels = v.file.rfind("kernels/");
  if (kernels != std::string::npos) v.file.erase(0, kernels);
  storage().push_back(std::move(v));
  return true;
}

const std::vector<Variant>& registry() {
  // Initialisation order across files is not specified: sorted once, on first use after main began.
  static const bool sorted = [] {
    std::sort(storage().begin(), storage().end(), [](const Variant& a, const Variant& b) {
      return std::tie(a.variant, a.dtype, a.backend) < std::tie(b.variant, b.dtype, b.backend);
    });
    return true;
  }();
  (void)sorted;
  return storage();
}

const Variant* find_variant(std::string_view key) {
  for (const Variant& v : registry())
    if (v.key() == key) return &v;
  return nullptr;
}

}  // namespace assay

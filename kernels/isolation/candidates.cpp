// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/candidates.hpp"

#include "kernels/mutants/mutants.hpp"

namespace assay {

const Variant* find_candidate(std::string_view key) {
  const Variant* const v = find_variant(key);
  return v ? v : find_mutant(key);
}

std::vector<const Variant*> same_kernel(std::string_view key) {
  std::vector<const Variant*> all;
  const Variant* const named = find_candidate(key);
  if (!named) return all;
  const auto take = [&](const Variant& v) {
    if (v.variant == named->variant && v.backend == named->backend && v.op == named->op) all.push_back(&v);
  };
  for (const Variant& v : registry()) take(v);
  for (const Mutant& m : mutants()) take(m.variant);
  return all;
}

}  // namespace assay

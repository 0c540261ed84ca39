// SPDX-License-Identifier: Apache-2.0
#include "properties/algebra.hpp"

#include <fmt/format.h>

#include <bit>
#include <ostream>

namespace assay {

void showValue(const Pair& p, std::ostream& os) { os << fmt::format("({:a}, {:a})", p.m, p.d); }

bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

void Forest::add(const std::vector<Pair>& tree_leaves, const std::vector<Merge>& tree_merges) {
  leaves.insert(leaves.end(), tree_leaves.begin(), tree_leaves.end());
  merges.insert(merges.end(), tree_merges.begin(), tree_merges.end());
  first.push_back(static_cast<std::uint32_t>(leaves.size()));
}

std::vector<const Algebra*> select_forms() {
  std::vector<const Algebra*> all = {&host::accurate,       &host::fast,           &host::narrow_f16,
                                     &host::narrow_bf16,    &host_fma::accurate,   &host_fma::fast,
                                     &host_fma::narrow_f16, &host_fma::narrow_bf16};
#if defined(ASSAY_WITH_CUDA)
  for (const Algebra* a : {&cuda::accurate, &cuda::fast, &cuda::narrow_f16, &cuda::narrow_bf16})
    all.push_back(a);
#endif
  return all;
}

std::vector<const Algebra*> symmetric_forms() {
  std::vector<const Algebra*> all = {&host::symmetric, &host_fma::symmetric};
#if defined(ASSAY_WITH_CUDA)
  all.push_back(&cuda::symmetric);
#endif
  return all;
}

}  // namespace assay

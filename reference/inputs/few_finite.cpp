// SPDX-License-Identifier: Apache-2.0
#include "reference/inputs/few_finite.hpp"

#include <algorithm>

namespace assay {
namespace {

constexpr std::int64_t kTwo24 = 1 << 24, kTwo31 = std::int64_t{1} << 31, kTwo32 = 2 * kTwo31;

}  // namespace

std::set<std::int64_t> few_finite_columns(std::int64_t V, std::uint64_t seed) {
  std::set<std::int64_t> columns = {V - 1};
  for (const std::int64_t edge : {kTwo24 + 2, kTwo31, kTwo32})
    for (const std::int64_t i : {edge - 2, edge - 1, edge, edge + 1})
      if (i < V) columns.insert(i);
  // A short row has fewer finite columns, and they may lie anywhere.
  const std::int64_t wanted = std::min(kFiniteLogits, (V + 1) / 2), above = V < 1024 ? -1 : 64;
  for (std::uint64_t n = 1; static_cast<std::int64_t>(columns.size()) < wanted; ++n)
    if (const auto i = static_cast<std::int64_t>(scattered(64 * seed + n) % static_cast<std::uint64_t>(V));
        i > above)
      columns.insert(i);
  return columns;
}

double few_finite_logit(std::int64_t column, int& n) { return column == kTwo24 + 3 ? 0.5 : -0.5 * (n++ % 7); }

}  // namespace assay

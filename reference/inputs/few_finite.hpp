// SPDX-License-Identifier: Apache-2.0
// The columns of the family `few_finite`, where an index may wrap around. They have a header of their own
// because the group `big` judges rows of 2^32 columns by these columns alone.
#pragma once

#include <cstdint>
#include <set>

namespace assay {

/// Largest number of finite logits in a row.
inline constexpr std::int64_t kFiniteLogits = 40;

/// The columns that hold a finite logit: the last one, those around 2^24, 2^31 and 2^32, and some drawn by
/// the seed. An index that wrapped at 2^31 or 2^32 (32 bits), or was rounded above 2^24 (f32), lands on none
/// of them.
std::set<std::int64_t> few_finite_columns(std::int64_t V, std::uint64_t seed);

/// The logit of the n-th such column; n counts up. An odd column behind 2^24 has the largest logit, so
/// selection must return its index. That column is not counted in n.
double few_finite_logit(std::int64_t column, int& n);

/// Mixes the bits of a counter. The columns must not depend on the standard library's generators.
constexpr std::uint64_t scattered(std::uint64_t n) {
  n = (n ^ n >> 31) * 0x9e3779b97f4a7c15;
  n = (n ^ n >> 29) * 0xbf58476d1ce4e5b9;
  return n ^ n >> 32;
}

}  // namespace assay

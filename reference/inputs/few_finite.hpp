// The columns of the family `few_finite`: where an index may wrap. Apart from the other families, because the
// group `big` judges rows of 2^32 columns by these alone.
#pragma once

#include <cstdint>
#include <set>

namespace assay {

/// Finite logits of a row, at most.
inline constexpr std::int64_t kFiniteLogits = 40;

/// Columns that hold a finite logit: the last, those around 2^24, 2^31 and 2^32, and others by the seed. None
/// is a column where an index lands that passed 2^31 or 2^32 in 32 bits, or 2^24 in an f32.
std::set<std::int64_t> few_finite_columns(std::int64_t V, std::uint64_t seed);

/// The logit of the n-th such column. An odd column behind 2^24 has the largest: selection must give its
/// index. That one is not counted.
double few_finite_logit(std::int64_t column, int& n);

/// Bits of a counter that look random: columns must not depend on the standard library.
constexpr std::uint64_t scattered(std::uint64_t n) {
  n = (n ^ n >> 31) * 0x9e3779b97f4a7c15;
  n = (n ^ n >> 29) * 0xbf58476d1ce4e5b9;
  return n ^ n >> 32;
}

}  // namespace assay

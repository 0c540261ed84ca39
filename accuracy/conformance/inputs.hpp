// Inputs of the groups: the families of reference/, and a few that only make sense among launches or at every
// row length. Row lengths a kernel's dispatch may depend on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "accuracy/case.hpp"
#include "accuracy/conformance/conformance.hpp"

namespace assay::conformance {

/// Families of this folder, besides those of reference/inputs.hpp.
std::span<const Family> more_families();

/// -1000 + N(0, 1): where a maximum, or the padding of a row, starts at 0 or at -100, every exp vanishes.
inline constexpr const char* kShifted = "shifted_minus_1000";
/// Rows whose first 16 elements are those of every other row, seed or not: a fingerprint of the head.
inline constexpr const char* kSameHead = "same_head";
/// The lowest finite number in place of -inf, and beside it.
inline constexpr const char* kLowest = "lowest_finite";
/// The largest logits stand beside every power of two and in the last column, in another order in each row:
/// columns that a narrow index cannot hold, or that stand for "none". kWidthRows rows have each of them among
/// their first five.
inline constexpr const char* kWidths = "width_edges";
inline constexpr std::int64_t kWidthRows = 8;
/// Each row of another family, special rows between ordinary ones: what one row leaves behind for the next.
inline constexpr const char* kMedley = "medley";
/// Every logit just inside -10^e, from 91 to 99.9 % of it: e is 5 in the first row, and one more in each row
/// up to the format's last. A stand-in for -inf, or a test for a mask, that a caller's numbers reach.
inline constexpr const char* kMagnitudes = "magnitudes";
inline constexpr std::int64_t kMagnitudeRows = 35;
/// Of the group `big` alone: a row of -inf but for a few logits where an index may wrap.
inline constexpr const char* kFewFinite = "few_finite";

/// Throws InputError for an unknown family.
Tensor make_rows(const std::string& family, Dtype dtype, std::int64_t V, std::int64_t rows,
                 std::uint64_t seed);
Case make_case(const std::string& family, const Variant& variant, std::int64_t V, std::int64_t rows,
               std::uint64_t seed);

/// Every V of the group `shapes`, ascending: 0 to 4096, then the neighbourhoods of powers of two, of vector
/// times threads, of primes and of vocabularies. Not above max_V, where it is positive.
std::vector<std::int64_t> shape_sizes(Extent extent);
/// Between those of the quick look, which lie within 2 of a multiple of 32 or of a power of two: every length
/// to 520, beyond it every seventh to 1100 and every 61st to 4096. A tail of a tile has its own remainder,
/// whatever the tile.
std::vector<std::int64_t> sizes_between(Extent extent);

/// A row length of every half octave from 128 to 131072 (quick: of every octave to 16384), by the seed; every
/// other one a multiple of 8. A fault behind a dispatch on V hides from any list of round numbers.
std::vector<std::int64_t> drawn_sizes(Extent extent, std::uint64_t seed);

}  // namespace assay::conformance

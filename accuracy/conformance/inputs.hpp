// Inputs of the groups: rows of a family (reference/inputs/inputs.hpp), empty ones too, and the row lengths that a
// kernel's dispatch may depend on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/case/case.hpp"
#include "accuracy/conformance/conformance.hpp"

namespace assay::conformance {

/// Families that a group names.
inline constexpr const char* kShifted = "shifted_minus_1000";
inline constexpr const char* kSameHead = "same_head";
inline constexpr const char* kMedley = "medley";
inline constexpr const char* kMagnitudes = "magnitudes";
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

// SPDX-License-Identifier: Apache-2.0
// The host's half of a sweep: fills and judges a block of arguments. It is compiled for AVX2 and FMA if the
// CPU family has them. So it uses no library templates: the linker might take their instantiations for those
// of another file.
#pragma once

#include <cstdint>

#include "accuracy/functions/function_stats.hpp"

namespace assay::functions {

/// The largest number of values in a block.
inline constexpr std::int64_t kBlock = 512;

/// The arguments at the places of a range, in the format's element type: 4 or 2 bytes each.
void fill_block(const Rules& f, const Range& places, void* a, void* b);

/// Judges n <= kBlock results. `previous` is the result before the first one, at place `previous_place` (-1:
/// none). Appends undecided values to `left`, which has room for n more; returns how many it appended.
std::int64_t judge_block(const Rules& f, const Range& places, const void* a, const void* b, const void* got,
                         std::int64_t previous_place, std::uint32_t previous, Stats& stats, Undecided* left);

}  // namespace assay::functions

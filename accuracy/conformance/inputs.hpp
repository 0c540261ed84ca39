// SPDX-License-Identifier: Apache-2.0
// Inputs of the groups: rows of a family (reference/inputs/inputs.hpp), empty ones too, and the row lengths V
// on which the dispatch of a kernel may depend.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "accuracy/case/case.hpp"
#include "accuracy/conformance/conformance.hpp"

namespace assay::conformance {

/// Families that groups name.
inline constexpr const char* kShifted = "shifted_minus_1000";
inline constexpr const char* kPeakAtEnds = "peak_at_ends";
inline constexpr const char* kSameHead = "same_head";
inline constexpr const char* kMedley = "medley";
inline constexpr const char* kMagnitudes = "magnitudes";
inline constexpr const char* kFewFinite = "few_finite";

/// Throws InputError for an unknown family.
Tensor make_rows(const std::string& family, Dtype dtype, std::int64_t V, std::int64_t rows,
                 std::uint64_t seed);
Case make_case(const std::string& family, const Variant& variant, std::int64_t V, std::int64_t rows,
               std::uint64_t seed);

/// Every V of the group `shapes`, ascending: 0 to 4096, then the neighbourhoods of powers of two, of (vector
/// width times threads), of primes and of vocabulary sizes. None is above max_V, if that is positive.
std::vector<std::int64_t> shape_sizes(Extent extent);
/// The vocabulary of a published model, as its config or tokenizer says, padded ones included.
struct Vocabulary {
  std::int64_t V;
  const char* of;
};
/// All that are known, ascending.
std::span<const Vocabulary> vocabularies();
/// True for those that the quick look tries on the host too, and on a GPU with many rows: GPT-2, Llama 2 and
/// 3, Qwen.
bool is_common(const Vocabulary& v);

/// Row lengths between those of the quick look (within 2 of a multiple of 32 or of a power of two). On a GPU
/// every length to 4096; on the host every one to 520, then every seventh to 1100, then every 61st: they give
/// different tails for any tile size.
std::vector<std::int64_t> sizes_between(Extent extent, bool on_gpu);
/// Row lengths beyond 2^15: each remainder by 256 once; the remainders by 4096 lie in every sixteenth of it.
std::vector<std::int64_t> sizes_of_every_remainder();

/// One random row length for every half octave from 128 to 131072 (quick: for every octave to 16384), drawn
/// by the seed; every other one is a multiple of 8. A list of round numbers would miss a fault behind a
/// dispatch on V.
std::vector<std::int64_t> drawn_sizes(Extent extent, std::uint64_t seed);

}  // namespace assay::conformance

// Input families: named distributions of rows, each with the sentence that says what it attacks. A row is
// a function of (family, dtype, V, row, seed) alone, so that one record line reproduces it anywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/tensor.hpp"

namespace assay {

enum class FamilyKind { ordinary, real, special };

/// What the rows of a family share, or-ed together. Words about failing cases are made of these, so that no
/// list of families stands anywhere else.
namespace trait {
using Set = std::uint32_t;
inline constexpr Set nan = 1 << 0;          // every row holds a NaN
inline constexpr Set pos_inf = 1 << 1;      // every row holds a +inf
inline constexpr Set neg_inf = 1 << 2;      // rows hold -inf, and neither of the two above
inline constexpr Set all_neg_inf = 1 << 3;  // every row is nothing but -inf
inline constexpr Set parts = 1 << 4;        // a vector, a warp, a tile, a half ... of a row is -inf
inline constexpr Set bottom = 1 << 5;       // rows have nothing above the lowest finite number
inline constexpr Set apart = 1 << 6;        // the maxima of lanes, vectors, threads or tiles lie far apart
inline constexpr Set late = 1 << 7;         // the first number, or the maximum, comes late
inline constexpr Set settled = 1 << 8;      // the running maximum does not rise
inline constexpr Set ties = 1 << 9;
inline constexpr Set slow_rise = 1 << 10;   // the row ascends by small steps
inline constexpr Set subnormal = 1 << 11;   // outputs are subnormal
inline constexpr Set wide = 1 << 12;        // many logits lie far below the maximum and still count
inline constexpr Set large = 1 << 13;       // logits lie far from zero, as far as the format goes
inline constexpr Set mixed = 1 << 14;       // each row is of another family
inline constexpr Set empty_rows = 1 << 15;  // there are rows of V = 0: few families stand for all
}  // namespace trait

struct Family {
  const char* name;
  const char* why;  // what it attacks, one sentence
  FamilyKind kind = FamilyKind::ordinary;
  trait::Set traits = 0;
  /// Null where every command tries the family. Otherwise the one group of `assay check` that tries it; any
  /// command still draws it where --family names it.
  const char* group = nullptr;
  std::int64_t quick_V = 0;  // a row length that `assay check --quick` has for this family alone; 0: none
};

/// The families that every command tries, in report order.
std::span<const Family> families();
/// These, and then those that one group of `assay check` tries.
std::span<const Family> all_families();
/// Of all; null where there is none of the name.
const Family* find_family(std::string_view name);
/// Throws InputError where there is none of the name.
const Family& family_named(std::string_view name);
/// 0 where there is no family of the name.
trait::Set traits_of(std::string_view name);

/// The vocabulary sizes of the report.
std::span<const std::int64_t> report_sizes();

/// False where the family does not exist for this dtype and V (real logits end at V = 32000, say).
bool applies(const Family& family, Dtype dtype, std::int64_t V);

/// The longest row that there is; of most families any.
std::int64_t longest_row(const Family& family);

/// Rows the report runs: several below V = 2048, one above, unless the family is a sweep (spike
/// positions). `full` runs the complete sweep at every V.
std::int64_t report_rows(const Family& family, Dtype dtype, std::int64_t V, bool full);
/// Rows of `assay check --quick`: at most 8, and one of a long row. A family that says itself how many rows
/// show its whole pattern keeps them.
std::int64_t quick_rows(const Family& family, Dtype dtype, std::int64_t V);
/// Rows at a V that was drawn by the seed: at most 8, as of short rows, so that a family of several patterns
/// shows several. `usual` where the family says itself how many rows it has.
std::int64_t drawn_rows(const Family& family, Dtype dtype, std::int64_t V, std::int64_t usual);

/// rows x V of the family, already rounded to dtype. Finite families stay finite after rounding.
/// Throws InputError if a data file is missing or broken.
Tensor make_input(const Family& family, Dtype dtype, std::int64_t V, std::int64_t rows, std::uint64_t seed);

/// Where the committed tensors are: ASSAY_DATA if set, beside the executable, or the source tree.
std::string data_directory();

}  // namespace assay

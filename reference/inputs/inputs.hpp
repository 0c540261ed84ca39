// SPDX-License-Identifier: Apache-2.0
// Input families: named distributions of rows, each with a sentence that says what it attacks. A row is a
// function of (family, dtype, row length V, row number, seed) alone, so one record line reproduces it on any
// machine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/tensor.hpp"

namespace assay {

enum class FamilyKind { ordinary, real, special };

/// Properties that all rows of a family share, or-ed together. Sentences about failing cases are made of
/// these, so that no other place needs a list of families.
namespace trait {
using Set = std::uint32_t;
inline constexpr Set nan = 1 << 0;          // every row holds a NaN
inline constexpr Set pos_inf = 1 << 1;      // every row holds a +inf
inline constexpr Set neg_inf = 1 << 2;      // rows hold -inf, and neither NaN nor +inf
inline constexpr Set all_neg_inf = 1 << 3;  // every row is nothing but -inf
inline constexpr Set parts = 1 << 4;        // a vector, a warp, a tile, a half ... of the row is -inf
inline constexpr Set bottom = 1 << 5;       // no logit is above the lowest finite number
inline constexpr Set apart = 1 << 6;        // the maxima of lanes, vectors, threads or tiles lie far apart
inline constexpr Set late = 1 << 7;         // the first number, or the maximum, comes late
inline constexpr Set settled = 1 << 8;      // the running maximum does not rise
inline constexpr Set ties = 1 << 9;
inline constexpr Set slow_rise = 1 << 10;   // the row ascends by small steps
inline constexpr Set subnormal = 1 << 11;   // outputs are subnormal
inline constexpr Set wide = 1 << 12;        // many logits lie far below the maximum and still count
inline constexpr Set large = 1 << 13;       // logits lie far from zero, as far as the format goes
inline constexpr Set mixed = 1 << 14;       // each row is of a different family
inline constexpr Set empty_rows = 1 << 15;  // the family has rows of V = 0; few families suffice
}  // namespace trait

struct Family {
  const char* name;
  const char* why;  // what it attacks, one sentence
  FamilyKind kind = FamilyKind::ordinary;
  trait::Set traits = 0;
  /// Null: every command tries the family. Otherwise only the named group of `assay check` tries it, and any
  /// command draws it when --family names it.
  const char* group = nullptr;
  std::int64_t quick_V = 0;  // an extra row length in `assay check --quick`, for this family only; 0: none
};

/// The families that every command tries, in report order.
std::span<const Family> families();
/// The same, followed by the families that only one group of `assay check` tries.
std::span<const Family> all_families();
/// Searches all_families(). Null if there is no family of that name.
const Family* find_family(std::string_view name);
/// Searches all_families(). Throws InputError if there is no family of that name.
const Family& family_named(std::string_view name);
/// 0 if there is no family of that name.
trait::Set traits_of(std::string_view name);

/// The row lengths (vocabulary sizes) of the report.
std::span<const std::int64_t> report_sizes();
/// Those of a quick report: empty, the shortest, one below and one above a warp, and one for each way in
/// which the kernels share longer rows.
std::span<const std::int64_t> quick_report_sizes();

/// False if the family has no rows of this dtype and V. For example, recorded logits end at V = 32000.
bool applies(const Family& family, Dtype dtype, std::int64_t V);

/// The longest row that the family has. Most families have no limit.
std::int64_t longest_row(const Family& family);

/// Number of rows that the report runs: several below V = 2048, one from there on, unless the family is a
/// sweep (of spike positions, for example). `full` runs the complete sweep at every V.
std::int64_t report_rows(const Family& family, Dtype dtype, std::int64_t V, bool full);
/// Number of rows in `assay check --quick`: at most 8, and one for a long row. A family with its own number
/// for its whole pattern keeps that number.
std::int64_t quick_rows(const Family& family, Dtype dtype, std::int64_t V);
/// Number of rows at a V that the seed drew: at most 8, and as many as for a short row, so that a family with
/// several patterns shows several. `usual` for a family with its own number of rows.
std::int64_t drawn_rows(const Family& family, Dtype dtype, std::int64_t V, std::int64_t usual);

/// rows x V logits of the family, rounded to dtype. Finite families stay finite after rounding. Throws
/// InputError if a data file is missing or broken. `threads` 0: one per core; the rows are the same for any
/// number.
Tensor make_input(const Family& family, Dtype dtype, std::int64_t V, std::int64_t rows, std::uint64_t seed,
                  int threads = 1);

/// Folder of the committed tensors: ASSAY_DATA if set, otherwise beside the executable, or the source tree.
std::string data_directory();

}  // namespace assay

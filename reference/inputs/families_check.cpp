// SPDX-License-Identifier: Apache-2.0
// Families that only one group of `assay check` tries: rows that make sense only from launch to launch, or at
// every row length. Any command draws them if --family names them.
#include <algorithm>
#include <iterator>

#include "reference/inputs/families.hpp"

namespace assay::family_tables {
namespace {

// The normal rows are of this dtype, so the shift is the only further rounding.
void shifted_minus_1000(Row& r) {
  draw_row("normal_1", r.dtype, r.V, r.index, r.seed, r.out);
  for (std::int64_t i = 0; i < r.V; ++i) r.set(i, r.at(i) - 1000);
}

void same_head(Row& r) {
  constexpr std::int64_t kHead = 16;
  draw_row("normal_1", r.dtype, r.V, r.index, r.seed, r.out);
  Tensor head(r.dtype, 1, kHead);
  draw_row("normal_1", r.dtype, kHead, 0, 1, head.row(0));
  for (std::int64_t i = 0; i < std::min(r.V, kHead); ++i) r.set(i, head.at(0, i));
}

// As row_encoded, whose rows no seed changes: here stride, start and level of each row are drawn, and every
// logit is up to 7/64 higher.
void row_drawn(Row& r) {
  constexpr std::int64_t kSteps = 61;
  const std::int64_t stride = 1 + r.random.below(kSteps - 1), start = r.random.below(kSteps);
  const auto level = static_cast<double>(r.random.below(50));
  std::uint64_t bits = 0;
  for (std::int64_t i = 0; i < r.V; ++i) {
    bits = i % 16 == 0 ? r.random.next() : bits >> 4;
    const std::int64_t step = (i % kSteps * stride + start) % kSteps;
    r.set(i, static_cast<double>(step) / 8 + static_cast<double>(bits & 7) / 64 - level);
  }
}

// Four kinds of row: all lowest finite; one element -1; every other one -inf; only the last finite.
void lowest_finite(Row& r) {
  for (std::int64_t i = 0; i < r.V; ++i) {
    double x = -max_finite(r.dtype);
    if (r.index % 4 == 1 && i == r.V / 2) x = -1;
    if ((r.index % 4 == 2 && i % 2 == 1) || (r.index % 4 == 3 && i + 1 < r.V)) x = -kInf;
    r.set(i, x);
  }
}

// Each row has another order. In eight rows each of the columns is among the first five.
void width_edges(Row& r) {
  std::set<std::int64_t> edges = {r.V - 1};
  for (std::int64_t edge = 4; edge <= r.V; edge *= 2) {
    edges.insert(edge - 1);
    if (edge < r.V) edges.insert(edge);
  }
  const std::vector<std::int64_t> columns(edges.rbegin(), edges.rend());
  for (std::int64_t i = 0; i < r.V; ++i) r.set(i, -8 - 0.125 * static_cast<double>(i * 7 % 16));
  const auto turned = 5 * static_cast<std::size_t>(r.index);
  for (std::size_t n = 0; n < columns.size(); ++n)
    r.set(columns[(n + turned) % columns.size()], 8 - 0.25 * static_cast<double>(n));
}

// N(0, 1), and one logit of 8 in the first column, in the last or in the middle. At V = 128256 it is 0.014 of
// the expected sum: e^8 / (e^8 + V e^0.5). It is not larger, so that most exps stored in f16 are normal.
void peak_at_ends(Row& r) {
  r.normal();
  const std::int64_t at[] = {0, r.V - 1, r.V / 2};
  if (r.V > 0) r.set(at[r.index % 3], 8);
}

// The powers of ten from 5 on, as libm computes them. 10^23 lies halfway between two doubles.
constexpr double kTen23 = 1e23 + 0x1p24;
constexpr double kTens[] = {1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,   1e12, 1e13, 1e14, 1e15, 1e16,
                            1e17, 1e18, 1e19, 1e20, 1e21, 1e22, kTen23, 1e24, 1e25, 1e26, 1e27, 1e28,
                            1e29, 1e30, 1e31, 1e32, 1e33, 1e34, 1e35,   1e36, 1e37, 1e38, 1e39};
constexpr std::int64_t kMagnitudes = std::ssize(kTens);

// Negative logits of 91 to 99.9 % of 10^e in magnitude. They are more than a thousand apart, so only the
// largest logit counts. e is 5 in the first row and grows by one per row, up to the format's largest.
void magnitudes(Row& r) {
  const double size = std::min(max_finite(r.dtype), 0.999 * kTens[r.index % kMagnitudes]);
  for (std::int64_t i = 0; i < r.V; ++i)
    r.set(i, -size * (1 - 0.0125 * static_cast<double>((i + 3) * 5 % 8)));
}

std::int64_t magnitude_rows(std::int64_t V, bool) { return V > 2048 ? 4 : kMagnitudes; }
std::int64_t quick_magnitude_rows(std::int64_t V) {
  return V > 1000 || V == 33 ? magnitude_rows(V, false) : 8;
}

constexpr const char* kOfMedley[] = {"normal_1", "nan",         "normal_10", "pos_inf",  "row_encoded",
                                     "ties",     "all_neg_inf", "normal_1",  "overflow", "normal_1"};
constexpr std::int64_t kOthers = std::ssize(kOfMedley);

void medley(Row& r) {
  const std::int64_t other = r.index % kOthers;
  draw_row(kOfMedley[other], r.dtype, r.V, r.index / kOthers, r.seed + static_cast<std::uint64_t>(other),
           r.out);
}

void few_finite(Row& r) {
  r.fill(-kInf);
  int n = 0;
  for (const std::int64_t i : few_finite_columns(r.V, r.seed + static_cast<std::uint64_t>(r.index)))
    r.set(i, few_finite_logit(i, n));
}

template <std::int64_t kRows>
std::int64_t always(std::int64_t, bool) {
  return kRows;
}
template <std::int64_t kRows>
std::int64_t also_quick(std::int64_t) {
  return kRows;
}

constexpr std::int64_t kAnyV = std::numeric_limits<std::int64_t>::max();

constexpr FamilyDef kCheck[] = {
    {{"shifted_minus_1000", "-1000 + N(0, 1): a maximum or padding that starts at 0 leaves no exp above 0.",
      FamilyKind::ordinary, 0, "shapes"},
     0,
     shifted_minus_1000},
    {{"same_head",
      "The first 16 logits of every row are the same: results cached by a fingerprint of the head.",
      FamilyKind::ordinary, 0, "calls"},
     0,
     same_head},
    {{"row_drawn",
      "Every row has a pattern of its own, which the seed draws: rows swapped, repeated or read at a wrong "
      "pitch.",
      FamilyKind::ordinary, 0, "layout"},
     0,
     row_drawn},
    {{"lowest_finite",
      "The lowest finite number and -inf: a test for -inf, or an empty maximum, that is a number.",
      FamilyKind::special,
      trait::neg_inf | trait::parts | trait::bottom | trait::late | trait::large | trait::empty_rows,
      "families"},
     0,
     lowest_finite,
     kAnyV,
     always<4>,
     also_quick<4>},
    {{"width_edges",
      "The largest logits beside powers of two: an index that is too narrow, or that means none.",
      FamilyKind::ordinary, trait::empty_rows, "families", 70001},  // beyond 16-bit column numbers
     0,
     width_edges,
     kAnyV,
     always<8>,
     also_quick<8>},
    {{"peak_at_ends", "The maximum first, last or in the middle: a path for a row length that loses an end.",
      FamilyKind::ordinary, 0, "shapes"},
     0,
     peak_at_ends},
    {{"magnitudes", "Every logit near -1e5, -1e6 ... -1e38: a finite stand-in for -inf that is too small.",
      FamilyKind::ordinary, trait::large | trait::empty_rows, "families"},
     0,
     magnitudes,
     kAnyV,
     magnitude_rows,
     quick_magnitude_rows},
    {{"medley",
      "Each row of another family, special rows between ordinary ones: what a row leaves for the next.",
      FamilyKind::special, trait::mixed, "rows"},
     0,
     medley,
     kAnyV,
     always<kOthers>},
    {{"few_finite", "Everything is -inf but a few logits where an index may wrap: at 2^24, 2^31 and 2^32.",
      FamilyKind::special, 0, "big"},  // no trait explains an index that wraps around; V does
     0,
     few_finite},
};

}  // namespace

std::span<const FamilyDef> check_families() { return kCheck; }

}  // namespace assay::family_tables

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

// SPDX-License-Identifier: Apache-2.0
// Extreme families: finite rows far from zero, at the edges of the dtype, or with parts more than 90 nats
// apart. Softmax does not change under a shift, so only such rows reveal a wrong maximum.
#include "reference/inputs/families.hpp"

namespace assay::family_tables {
namespace {

void mixed_magnitudes(Row& r) {
  constexpr double kBig[] = {20, 1e3, 3e4};
  for (std::int64_t i = 0; i < r.V; ++i) {
    const double n = r.random.normal();
    const double x[] = {kBig[r.which] + n, -kBig[r.which] + n, n, 1e-6 * n};
    r.set(i, x[i % 4]);
  }
}

// Most elements lie within 8 below the level. An eighth of them lies four ulps below it, because far from
// zero the 8 vanishes in rounding.
void far_below(Row& r) {
  constexpr double kLevel[] = {-1e2, -2e4, -7e4, -2e5, -1e10, -2e30};
  const double level = std::max(kLevel[r.which], -max_finite(r.dtype));
  for (std::int64_t i = 0; i < r.V; ++i) {
    const double spread = r.random.below(8) == 0 ? 4 * ulp(r.dtype, level) : 8 * r.random.uniform();
    r.set(i, level - spread);
  }
}

// Cases 0-4: all elements are that large. Cases 5-9: about one in seven. The last element has the level
// itself.
void overflow(Row& r) {
  constexpr double kLevel[] = {89, 1e4, 6e4, 1e30, 3e38};
  for (std::int64_t i = 0; i < r.V; ++i) {
    const bool large = r.which < 5 || r.random.below(7) == 0;
    r.set(i, large ? kLevel[r.which % 5] - 8 * r.random.uniform() : r.random.normal());
  }
  r.set(r.V - 1, kLevel[r.which % 5]);
}

// Below the maximum by: from -ln of the smallest normal to a little past the point where exp rounds to 0.
void subnormal_out(Row& r) {
  const double near = r.dtype == Dtype::f16 ? 9.7 : r.dtype == Dtype::f64 ? 708.4 : 87.3;
  const double far = r.dtype == Dtype::f16    ? 17.4
                     : r.dtype == Dtype::bf16 ? 93
                     : r.dtype == Dtype::f32  ? 104
                                              : 745.2;
  constexpr double kTop[] = {0, 3, -2};
  const double top = kTop[r.index % 3];
  for (std::int64_t i = 0; i < r.V; ++i) r.set(i, top - near - (far - near) * r.random.uniform());
  r.set(r.random.below(r.V), top);
}

// 128 nats per level. All four dtypes hold its multiples exactly up to level 255, and levels stay more than
// 90 apart after rounding. Rank 0 is the highest.
constexpr double kGap = 128;

// The rank of each of n <= 256 parts: descending, ascending, rotated, scattered. 419 is a prime above 256, so
// the scattered order is a bijection for every n.
std::int64_t rank_of(std::int64_t part, std::int64_t n, std::int64_t order, std::int64_t row) {
  switch (order) {
    case 0:
      return part;
    case 1:
      return n - 1 - part;
    case 2:
      return (part + n / 2 + row) % n;
    default:
      return (part * 419 + 5 * row + 11) % n;
  }
}

void levels(Row& r, std::int64_t group, std::int64_t parts, std::int64_t order) {
  const std::int64_t used = std::clamp<std::int64_t>((r.V + group - 1) / group, 1, parts);
  for (std::int64_t i = 0; i < r.V; ++i) {
    const std::int64_t rank = rank_of(i / group % used, used, order, r.index);
    r.set(i, -kGap * static_cast<double>(rank) - 2 * r.random.uniform());
  }
}

void lane_maxima(Row& r) { levels(r, 1, 32, r.which); }
void thread_maxima(Row& r) { levels(r, 1, 256, r.which); }
void vector_maxima(Row& r) { levels(r, r.which < 4 ? 4 : 8, 32, r.which % 4); }
void tile_maxima(Row& r) {
  constexpr std::int64_t kTile[] = {1024, 256, 128};
  levels(r, kTile[r.which / 4], 256, r.which % 4);
}

void first_small(Row& r) {
  constexpr double kHuge[] = {100, 1e4, 6e4};
  const double huge = kHuge[r.which % 3];
  for (std::int64_t i = 0; i < r.V; ++i) {
    const bool large = r.which < 3 ? i > 0 : i == r.V - 1;  // all others, or only the last
    r.set(i, large ? huge - r.random.uniform() : 1e-3 * r.random.uniform());
  }
  if (r.V > 1) r.set(0, 1e-3);
}

// Rows of exact edge values: all of them, none large and positive, only the two ends, around zero, the
// largest.
void exact_extremes(Row& r) {
  const double top = max_finite(r.dtype), normal = min_normal(r.dtype), tiny = min_subnormal(r.dtype);
  const double half = max_finite(Dtype::f16);  // f16 arithmetic in a wider kernel overflows here
  const double list[] = {top,           -top, tiny, -tiny, normal, -normal, normal - tiny,
                         tiny - normal, half, 0.0,  -0.0,  -half,  65520,   -65520};
  const double low[] = {-top, -tiny, -normal, -half, -0.0};
  const double near[] = {tiny, -tiny, normal, -normal, normal - tiny, tiny - normal, 0.0, -0.0};
  for (std::int64_t i = 0; i < r.V; ++i) {
    switch (r.which) {
      case 0:
        r.set(i, list[(i + r.index) % 14]);
        break;
      case 1:
        r.set(i, low[i % 5]);
        break;
      case 2:
        r.set(i, i % 2 ? top : -top);
        break;
      case 3:
        r.set(i, near[i % 8]);
        break;
      default:
        r.set(i, top);
    }
  }
}

constexpr FamilyDef kExtreme[] = {
    {{"mixed_magnitudes", "Large positive, large negative, small and tiny in turn: any order of the maximum.",
      FamilyKind::ordinary, trait::large},
     3,
     mixed_magnitudes},
    {{"far_below", "Every logit lies far below zero: finite stand-ins for -inf such as 0, -1e4 or -5e4.",
      FamilyKind::ordinary, trait::large},
     6,
     far_below},
    {{"overflow", "All or some logits where exp overflows: a maximum that is not subtracted, here or there.",
      FamilyKind::ordinary, trait::large},
     10,
     overflow},
    {{"subnormal_out", "Outputs are subnormal or just round to 0: flushing, and bounds without w.",
      FamilyKind::ordinary, trait::subnormal | trait::wide},
     0,
     subnormal_out},
    {{"lane_maxima", "Maxima of the 32 lanes more than 90 nats apart: a lane that keeps its own maximum.",
      FamilyKind::ordinary, trait::apart},
     4,
     lane_maxima},
    {{"vector_maxima",
      "Maxima of vectors of 4 or 8 more than 90 nats apart: a vector with another's maximum.",
      FamilyKind::ordinary, trait::apart},
     8,
     vector_maxima},
    {{"thread_maxima", "Maxima of 256 threads more than 90 nats apart: a reduction that loses a warp.",
      FamilyKind::ordinary, trait::apart},
     4,
     thread_maxima},
    {{"tile_maxima",
      "Maxima of tiles more than 90 nats apart, in any order: a rescale between tiles left out.",
      FamilyKind::ordinary, trait::apart | trait::late},
     12,
     tile_maxima},
    {{"first_small",
      "The first element is tiny and a later one huge: a shift by x[0] instead of the maximum.",
      FamilyKind::ordinary, trait::late},
     6,
     first_small},
    {{"exact_extremes",
      "The largest, smallest normal and smallest subnormal values and both zeros: every edge.",
      FamilyKind::ordinary, trait::large},
     5,
     exact_extremes},
};

}  // namespace

std::span<const FamilyDef> extreme_families() { return kExtreme; }

}  // namespace assay::family_tables

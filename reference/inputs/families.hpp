// SPDX-License-Identifier: Apache-2.0
// What the family tables share: the random generator, the row to fill, and one line of a table. Internal to
// reference/inputs/; everything else includes inputs.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "reference/hash/draws.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay::family_tables {

/// ln x for normal x > 0, from IEEE operations alone. Rows must be the same on every machine, and the last
/// bit of libm's log is not. ln m = 2 atanh((m - 1)/(m + 1)), |z| < 0.172, so z^24 is below 2^-60.
inline double natural_log(double x) {
  int e = exponent_of(x);
  double m = x * exp2i(-e);
  if (m > 1.4142135623730951) m /= 2, ++e;
  const double z = (m - 1) / (m + 1), w = z * z;
  static constexpr std::array<double, 11> kOdd = {1. / 23, 1. / 21, 1. / 19, 1. / 17, 1. / 15, 1. / 13,
                                                  1. / 11, 1. / 9,  1. / 7,  1. / 5,  1. / 3};
  double sum = 0;
  for (double c : kOdd) sum = (sum + c) * w;
  return e * 0.69314718055994531 + 2 * z * (1 + sum);
}

/// The draws of a row.
class Random : public Draws {
 public:
  using Draws::Draws;
  /// Uniform in the open interval (0, 1).
  double uniform() { return (static_cast<double>(next() >> 12) + 0.5) * 0x1p-52; }
  /// Standard normal, by Marsaglia's polar method, which needs no sine.
  double normal() {
    if (spare_ != 0) return std::exchange(spare_, 0.0);
    double a, b, s;
    do {
      a = 2 * uniform() - 1;
      b = 2 * uniform() - 1;
      s = a * a + b * b;
    } while (s >= 1 || s < 0x1p-200);
    const double f = std::sqrt(-2 * natural_log(s) / s);
    spare_ = b * f;
    return a * f;
  }

 private:
  double spare_ = 0;  // the second number of a pair; 0: none
};

/// One row to fill: elements 0 ... V-1, each set at least once.
struct Row {
  Dtype dtype;
  std::int64_t V;
  std::int64_t index;  // row number in the tensor
  std::int64_t which;  // number of the case that the row shows, 0 ... cases-1
  std::uint64_t seed;
  Random random;
  std::byte* out;

  /// Rounds x to the dtype and stores it. A finite x stays finite: it becomes at most the largest finite
  /// value. An infinite x stays infinite.
  void set(std::int64_t i, double x) {
    if (std::isfinite(x)) x = std::clamp(x, -max_finite(dtype), max_finite(dtype));
    store_bits(dtype, out, i, encode(dtype, x));
  }
  void set_bits(std::int64_t i, std::uint64_t bits) { store_bits(dtype, out, i, bits); }
  void fill(double x) {
    for (std::int64_t i = 0; i < V; ++i) set(i, x);
  }
  double at(std::int64_t i) const { return decode(dtype, load_bits(dtype, out, i)); }
  /// Sets all elements to N(mean, sigma) values: the usual background of a special element.
  void normal(double mean = 0, double sigma = 1) {
    for (std::int64_t i = 0; i < V; ++i) set(i, mean + sigma * random.normal());
  }
};

/// One line of a table. A family with `cases` shows one case per row. Below row length V = 2048 the report
/// runs every case; from there on it runs one, and V and the dtype choose it (see inputs.cpp).
struct FamilyDef {
  Family family;
  std::int64_t cases;  // 0: rows differ only by their random numbers
  void (*fill)(Row&);
  std::int64_t max_V = std::numeric_limits<std::int64_t>::max();
  std::int64_t (*rows)(std::int64_t V, bool full) = nullptr;  // the family's own number of rows
  std::int64_t (*quick_rows)(std::int64_t V) = nullptr;       // the number that shows its whole pattern
};

/// Writes row `index` of another family to `out`. For families that are mixed from others.
void draw_row(std::string_view family, Dtype dtype, std::int64_t V, std::int64_t index, std::uint64_t seed,
              std::byte* out);

std::span<const FamilyDef> real_families();      // families_real.cpp
std::span<const FamilyDef> ordinary_families();  // families.cpp
std::span<const FamilyDef> extreme_families();   // families_extreme.cpp
std::span<const FamilyDef> special_families();   // families_special.cpp
std::span<const FamilyDef> check_families();     // families_check.cpp

}  // namespace assay::family_tables

namespace assay {

// The columns of the family `few_finite`, where an index may wrap around. They have a header of their own
// because the group `big` judges rows of 2^32 columns by these columns alone.

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

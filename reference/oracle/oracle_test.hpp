// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the oracle: rows of many shapes, and a direct evaluation at 1000 bits to compare a
// row with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "reference/mpfr_value.hpp"
#include "reference/oracle/oracle.hpp"

namespace assay::oracle_test {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr int kDirect = 1000;

inline Tensor row_of(Dtype t, const std::vector<double>& values) {
  Tensor x(t, 1, static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) x.set(0, static_cast<std::int64_t>(i), values[i]);
  return x;
}

inline RowTruth solve(const Tensor& x, const OracleOptions& options = {}) {
  return row_truth(x.dtype, x.row(0), x.V, x.dtype, options);
}

struct Shape {
  const char* name;
  double (*at)(Dtype, std::int64_t i, std::int64_t V, std::mt19937_64&);
};

inline double normal(std::mt19937_64& random, double sigma) {
  return std::normal_distribution<double>(0, sigma)(random);
}

inline const Shape kShapes[] = {
    {"normal", [](Dtype, std::int64_t, std::int64_t, std::mt19937_64& r) { return normal(r, 1); }},
    {"normal10", [](Dtype, std::int64_t, std::int64_t, std::mt19937_64& r) { return normal(r, 10); }},
    // Distances on both sides of kCut.
    {"normal8000", [](Dtype, std::int64_t, std::int64_t, std::mt19937_64& r) { return normal(r, 8000); }},
    {"ramp",
     [](Dtype, std::int64_t i, std::int64_t, std::mt19937_64&) { return 1e-4 * static_cast<double>(i); }},
    {"ramp80", [](Dtype, std::int64_t i, std::int64_t V,
                  std::mt19937_64&) { return -80.0 * static_cast<double>(i) / static_cast<double>(V); }},
    // Results around the smallest normal and the smallest subnormal of the format.
    {"underflow",
     [](Dtype t, std::int64_t i, std::int64_t V, std::mt19937_64& r) {
       const double low = std::log(min_subnormal(t)) - 4, high = std::log(min_normal(t)) + 2;
       return i == V / 2 ? 0.0 : std::uniform_real_distribution<double>(low, high)(r);
     }},
    {"huge",
     [](Dtype t, std::int64_t i, std::int64_t, std::mt19937_64& r) {
       const double top = max_finite(t);
       return i % 3 == 0 ? top : i % 3 == 1 ? -top : top * std::uniform_real_distribution<double>(-1, 1)(r);
     }},
    // The maximum is large and its neighbours are one ulp apart.
    {"offset", [](Dtype t, std::int64_t i, std::int64_t,
                  std::mt19937_64&) { return 1000 + static_cast<double>(i % 50) * ulp(t, 1000.0); }},
    {"masked", [](Dtype, std::int64_t i, std::int64_t V,
                  std::mt19937_64& r) { return i % 3 == 1 && V > 1 ? -kInfinity : normal(r, 3); }},
    {"ties", [](Dtype, std::int64_t, std::int64_t, std::mt19937_64& r) { return std::round(normal(r, 2)); }},
    {"tiny",
     [](Dtype t, std::int64_t, std::int64_t, std::mt19937_64& r) { return normal(r, 9) * min_subnormal(t); }},
    {"spike", [](Dtype, std::int64_t i, std::int64_t V,
                 std::mt19937_64& r) { return i == V - 1 ? 60.0 : normal(r, 1e-3); }},
};

inline Tensor make(const Shape& shape, Dtype t, std::int64_t V) {
  std::mt19937_64 random(static_cast<std::uint64_t>(V) * 7 + static_cast<std::uint64_t>(t));
  std::vector<double> values;
  for (std::int64_t i = 0; i < V; ++i) {
    const double v = shape.at(t, i, V, random);
    values.push_back(std::isinf(v) ? v : std::clamp(v, -max_finite(t), max_finite(t)));
  }
  return row_of(t, values);
}

template <class Body>
void for_shapes(const std::vector<std::int64_t>& sizes, Body body) {
  for (Dtype t : kDtypes)
    for (const Shape& shape : kShapes)
      for (std::int64_t V : sizes) {
        SCOPED_TRACE(std::string(name(t)) + " " + shape.name + " V = " + std::to_string(V));
        body(make(shape, t, V));
        if (testing::Test::HasFatalFailure()) return;
      }
}

/// lo <= v <= hi, exactly.
inline bool holds(double lo, mpfr_srcptr v, double hi) {
  return mpfr_cmp_d(v, lo) >= 0 && mpfr_cmp_d(v, hi) <= 0;
}

/// Compares with the textbook formulas at 1000 bits, without a shortcut. s - 1 is summed apart, because 1 +
/// 2^-2000 would not fit.
inline void expect_direct(const RowTruth& t, Dtype out) {
  MpfrValue e(kDirect), rest(kDirect), s(kDirect), p(kDirect), distance(kDirect), half(kDirect);
  const auto term = [&](std::size_t i) {
    mpfr_set_d(e, t.x[i], MPFR_RNDN);
    mpfr_sub_d(e, e, t.m, MPFR_RNDN);
    mpfr_exp(e, e, MPFR_RNDN);
  };
  mpfr_set_zero(rest, 1);
  for (std::size_t i = 0; i < t.x.size(); ++i) {
    if (static_cast<std::int64_t>(i) == t.argmax || std::isinf(t.x[i])) continue;
    term(i);
    mpfr_add(rest, rest, e, MPFR_RNDN);
  }
  mpfr_add_ui(s, rest, 1, MPFR_RNDN);
  EXPECT_TRUE(holds(t.s.lo, s, t.s.hi));
  EXPECT_LE(t.s.hi - t.s.lo, 2 * ulp(Dtype::f64, t.s.hi));

  mpfr_set_zero(distance, 1);
  for (std::size_t i = 0; i < t.x.size(); ++i) {
    if (std::isinf(t.x[i])) {
      ASSERT_TRUE(t.lo[i] == 0 && t.hi[i] == 0 && t.rounded[i] == 0 && t.d[i] == -kInfinity) << i;
      continue;
    }
    term(i);
    mpfr_div(p, e, s, MPFR_RNDN);
    ASSERT_TRUE(holds(t.lo[i], p, t.hi[i])) << i << " " << std::hexfloat << t.lo[i] << " " << t.hi[i];
    ASSERT_LE(t.hi[i] - t.lo[i], 2 * ulp(Dtype::f64, t.hi[i])) << i;
    const double rounded = decode(out, t.rounded[i]);
    ASSERT_EQ(rounded, nearest_by_integers(out, p)) << i;
    mpfr_set_d(half, rounded, MPFR_RNDN);
    mpfr_sub(half, half, p, MPFR_RNDN);
    mpfr_mul_2ui(half, half, 1, MPFR_RNDN);
    ASSERT_LE(std::abs(mpfr_get_d(half, MPFR_RNDZ)), ulp(out, t.hi[i])) << i;
    mpfr_mul_d(p, p, -t.d[i], MPFR_RNDN);
    mpfr_add(distance, distance, p, MPFR_RNDN);
  }
  const double expected = mpfr_get_d(distance, MPFR_RNDN);
  EXPECT_NEAR(t.weighted_distance, expected, 1e-14 * expected + 1e-300);

  mpfr_log1p(s, rest, MPFR_RNDN);
  mpfr_add_d(s, s, t.m, MPFR_RNDN);
  EXPECT_TRUE(holds(t.lse.lo, s, t.lse.hi));
  if (std::isinf(t.lse.hi)) {  // above the largest double there is no finite upper end
    EXPECT_EQ(t.lse.lo, std::numeric_limits<double>::max());
  } else {
    const double size = std::max(std::abs(t.lse.lo), std::abs(t.lse.hi));
    EXPECT_LE(t.lse.hi - t.lse.lo, 2 * ulp(Dtype::f64, size));
  }
  EXPECT_EQ(decode(out, t.lse_rounded), nearest_by_integers(out, s));
}

}  // namespace assay::oracle_test

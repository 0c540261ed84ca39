// SPDX-License-Identifier: Apache-2.0
// Each family holds what its sentence promises, in every dtype.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "reference/inputs/inputs_test.hpp"

namespace assay {
namespace {

using namespace inputs_test;

TEST(Families, NormalIsNormal) {
  const Tensor t = rows_of("normal_1", Dtype::f64, 100000, 1);
  double sum = 0, square = 0, beyond = 0;
  for (double x : values(t, 0)) sum += x, square += x * x, beyond += std::fabs(x) > 1.959964;
  EXPECT_NEAR(sum / 1e5, 0, 0.015);
  EXPECT_NEAR(square / 1e5, 1, 0.02);
  EXPECT_NEAR(beyond / 1e5, 0.05, 0.003);
}

TEST(Families, OrdinaryOnesAreFiniteInEveryDtype) {
  for (const Family& f : families()) {
    if (f.kind == FamilyKind::special || std::string_view(f.name) == "attention_causal") continue;
    for (Dtype t : kDtypes) {
      for (std::int64_t V : {1, 2, 33, 129, 1025, 4099}) {
        const Tensor x = make_input(f, t, V, std::min<std::int64_t>(report_rows(f, t, V, true), 33), 3);
        for (std::int64_t r = 0; r < x.rows; ++r)
          for (std::int64_t i = 0; i < V; ++i)
            ASSERT_TRUE(std::isfinite(x.at(r, i)))
                << f.name << ' ' << name(t) << ' ' << V << ' ' << r << ' ' << i;
      }
    }
  }
}

TEST(Families, LongRowsAreFiniteIn16Bits) {
  for (const Family& f : families()) {
    if (f.kind != FamilyKind::ordinary) continue;
    const Tensor x = make_input(f, Dtype::f16, 128256, 1, 0);
    for (std::int64_t i = 0; i < x.V; ++i) ASSERT_TRUE(std::isfinite(x.at(0, i))) << f.name << ' ' << i;
  }
}

TEST(Families, RampsAscend) {
  for (Dtype t : kDtypes) {
    for (std::int64_t V : {1025, 32000, 128256}) {
      const Tensor x = rows_of("ramp_1ulp", t, V, V > 1025 ? 1 : 2);
      for (std::int64_t r = 0; r < x.rows; ++r) {
        std::map<double, std::int64_t> seen;
        for (std::int64_t i = 0; i < V; ++i) {
          if (i > 0) {
            EXPECT_GE(x.at(r, i), x.at(r, i - 1));
          }
          ++seen[x.at(r, i)];
        }
        std::int64_t most = 0, least = V;
        for (auto [value, count] : seen) most = std::max(most, count), least = std::min(least, count);
        EXPECT_LE(most - least, 1) << name(t) << ' ' << V << ": values repeat equally often";
        if (t == Dtype::f32 || t == Dtype::f64) {
          EXPECT_EQ(static_cast<std::int64_t>(seen.size()), V);
          EXPECT_EQ(x.at(r, 0), 1);
          EXPECT_EQ(x.at(r, 1), next_up(t, 1));
        }
      }
    }
    const Tensor slow = plan_of("ramp_1e4", t, 1025);
    for (std::int64_t r = 0; r < slow.rows; ++r) {
      for (std::int64_t i = 1; i < 1025; ++i) EXPECT_GE(slow.at(r, i), slow.at(r, i - 1));
      EXPECT_NEAR(slow.at(r, 1024) - slow.at(r, 0), 0.1024, 0.02);
    }
    const Tensor down = plan_of("descending", t, 1025);
    for (std::int64_t r = 0; r < down.rows; ++r) {
      EXPECT_GT(down.at(r, 0), down.at(r, 1024));
      for (std::int64_t i = 1; i < 1025; ++i) EXPECT_LE(down.at(r, i), down.at(r, i - 1));
    }
  }
}

TEST(Families, SpikeVisitsEveryPosition) {
  const Tensor x = plan_of("spike", Dtype::bf16, 1025);
  ASSERT_EQ(x.rows, 1025);
  std::set<std::int64_t> positions;
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const auto v = values(x, r);
    const auto top = std::max_element(v.begin(), v.end());
    EXPECT_EQ(std::count(v.begin(), v.end(), -40), 1024);
    EXPECT_GT(*top, 50);
    positions.insert(top - v.begin());
  }
  EXPECT_EQ(positions.size(), 1025u);
}

TEST(Families, SpikeVisitsEdgesAndTileBoundariesOfLongRows) {
  const std::int64_t V = 4099;
  const std::int64_t n = report_rows(family("spike"), Dtype::f16, V, true);
  const Tensor x = rows_of("spike", Dtype::f16, V, n, 9);
  std::set<std::int64_t> positions;
  for (std::int64_t r = 0; r < n; ++r) {
    const auto v = values(x, r);
    positions.insert(std::max_element(v.begin(), v.end()) - v.begin());
    if (r == 0) {
      EXPECT_EQ(*positions.begin(), V - 1);
    }
  }
  for (std::int64_t i = 0; i < 65; ++i) EXPECT_TRUE(positions.count(i) && positions.count(V - 1 - i)) << i;
  for (std::int64_t m : {1024, 2048, 3072, 4096})
    EXPECT_TRUE(positions.count(m - 1) && positions.count(m) && positions.count(m + 1)) << m;
  EXPECT_GE(positions.size(), 130u + 9 + 55) << "the seeded positions";
}

// The smallest distance between the maxima of two parts. part_of(i) is the part of element i.
template <class F>
double closest_maxima(const Tensor& x, std::int64_t row, F part_of) {
  std::map<std::int64_t, double> top;
  for (std::int64_t i = 0; i < x.V; ++i) {
    const auto it = top.emplace(part_of(i), -kInf).first;
    it->second = std::max(it->second, x.at(row, i));
  }
  std::vector<double> m;
  for (auto [part, value] : top) m.push_back(value);
  std::sort(m.begin(), m.end());
  double least = kInf;
  for (std::size_t i = 1; i < m.size(); ++i) least = std::min(least, m[i] - m[i - 1]);
  return least;
}

TEST(Families, MaximaOfPartsAreMoreThan90NatsApart) {
  for (Dtype t : kDtypes) {
    for (std::int64_t V : {33, 167, 1025, 4099}) {
      const Tensor lanes = rows_of("lane_maxima", t, V, 4), threads = rows_of("thread_maxima", t, V, 4);
      for (std::int64_t r = 0; r < 4; ++r) {
        EXPECT_GT(closest_maxima(lanes, r, [](std::int64_t i) { return i % 32; }), 90) << name(t) << V;
        EXPECT_GT(closest_maxima(threads, r, [](std::int64_t i) { return i % 256; }), 90) << name(t) << V;
      }
    }
    const Tensor tiles = plan_of("tile_maxima", t, 2047), vectors = plan_of("vector_maxima", t, 128);
    constexpr std::int64_t kTile[] = {1024, 256, 128};
    for (std::int64_t r = 0; r < 12; ++r)
      EXPECT_GT(closest_maxima(tiles, r, [&](std::int64_t i) { return i / kTile[r / 4]; }), 90) << r;
    for (std::int64_t r = 0; r < 8; ++r)
      EXPECT_GT(closest_maxima(vectors, r, [&](std::int64_t i) { return i / (r < 4 ? 4 : 8); }), 90) << r;
  }
}

TEST(Families, FarBelowAndOverflowReachTheirLevels) {
  const double below[] = {-1e2, -2e4, -7e4, -2e5, -1e10, -2e30};
  const double above[] = {89, 1e4, 6e4, 1e30, 3e38};
  for (Dtype t : kDtypes) {
    const Tensor low = plan_of("far_below", t, 1000), high = plan_of("overflow", t, 1000);
    for (std::int64_t r = 0; r < 6; ++r)
      EXPECT_LE(highest(low, r), std::max(round_to(t, below[r]), -max_finite(t))) << name(t) << ' ' << r;
    for (std::int64_t r = 0; r < 10; ++r)
      EXPECT_EQ(highest(high, r), std::min(round_to(t, above[r % 5]), max_finite(t))) << name(t) << ' ' << r;
    const Tensor negative = plan_of("all_negative", t, 1000);
    for (std::int64_t r = 0; r < negative.rows; ++r) EXPECT_LT(highest(negative, r), 0);
  }
}

TEST(Families, SubnormalOutputsAreSubnormal) {
  for (Dtype t : kDtypes) {
    const Tensor x = rows_of("subnormal_out", t, 1000, 3);
    for (std::int64_t r = 0; r < 3; ++r) {
      const double m = highest(x, r);
      std::int64_t subnormal = 0;
      for (double v : values(x, r)) {
        const double p = std::exp(v - m);
        subnormal += p < min_normal(t) && p > min_subnormal(t) / 2;
      }
      EXPECT_GT(subnormal, 700) << name(t);
    }
  }
}

TEST(Families, MasksHideRunsAndLeaveSomethingFinite) {
  for (const char* name : {"inf_vector", "inf_thread", "inf_warp", "inf_tile", "single_finite"}) {
    for (std::int64_t V : {1, 2, 31, 129, 1025, 4099}) {
      const std::int64_t cases = report_rows(family(name), Dtype::f16, V, true);
      const Tensor x = rows_of(name, Dtype::f16, V, cases);
      for (std::int64_t r = 0; r < cases; ++r) {
        const auto v = values(x, r);
        const std::int64_t hidden = std::count(v.begin(), v.end(), -kInf);
        EXPECT_LT(hidden, V) << name << ' ' << V << ' ' << r;
        if (V == 4099) {
          EXPECT_GT(hidden, 0) << name << ' ' << r;
        }
        if (std::string_view(name) == "single_finite") {
          EXPECT_EQ(hidden, V - 1) << V << ' ' << r;
        }
        for (double e : v) EXPECT_TRUE(std::isfinite(e) || e == -kInf);
      }
    }
  }
  const Tensor warp = plan_of("inf_warp", Dtype::f32, 1024), thread = plan_of("inf_thread", Dtype::f32, 1024);
  for (std::int64_t r = 0; r < 16; ++r)
    for (std::int64_t i = 0; i < 1024; ++i) {
      EXPECT_EQ(std::isinf(warp.at(r, i)), std::isinf(warp.at(r, i / 32 * 32))) << "whole warps";
      EXPECT_EQ(std::isinf(thread.at(r, i)), std::isinf(thread.at(r, i % 256))) << "whole slices";
    }
  for (double e : values(rows_of("all_neg_inf", Dtype::bf16, 33, 1), 0)) EXPECT_EQ(e, -kInf);
}

TEST(Families, InfinitiesAndNansArePresentInEveryRow) {
  for (Dtype t : kDtypes) {
    for (std::int64_t V : {1, 2, 33}) {
      const Tensor inf = plan_of("pos_inf", t, V), nan = plan_of("nan", t, V);
      for (std::int64_t r = 0; r < inf.rows; ++r)
        EXPECT_EQ(highest(inf, r), kInf) << name(t) << V << ' ' << r;
      for (std::int64_t r = 0; r < nan.rows; ++r) {
        const auto v = values(nan, r);
        EXPECT_TRUE(std::any_of(v.begin(), v.end(), [](double e) { return e != e; }))
            << name(t) << V << ' ' << r;
      }
    }
  }
  // The bits distinguish the kinds of NaN: quiet, negative, with a payload, signalling.
  std::set<std::uint64_t> bits;
  const Tensor nan = plan_of("nan", Dtype::f32, 33);
  for (std::int64_t r = 0; r < nan.rows; ++r)
    for (std::int64_t i = 0; i < 33; ++i)
      if (const auto b = load_bits(Dtype::f32, nan.row(r), i); is_nan_bits(Dtype::f32, b)) bits.insert(b);
  EXPECT_EQ(bits, (std::set<std::uint64_t>{0x7fc00000, 0xffc00000, 0x7fc0002a, 0x7f800015}));
}

TEST(Families, TiesAndExtremesHoldWhatTheyName) {
  const Tensor ties = plan_of("ties", Dtype::bf16, 1000);
  for (std::int64_t r = 0; r < ties.rows; ++r) {
    const auto v = values(ties, r);
    EXPECT_LE(std::set<double>(v.begin(), v.end()).size(), 41u);
    EXPECT_TRUE(std::any_of(v.begin(), v.end(), [](double e) { return e == 0; }));
  }
  const auto mixed = values(ties, 0);
  EXPECT_TRUE(std::any_of(mixed.begin(), mixed.end(), [](double e) { return e == 0 && std::signbit(e); }));
  EXPECT_TRUE(std::any_of(mixed.begin(), mixed.end(), [](double e) { return e == 0 && !std::signbit(e); }));
  for (Dtype t : kDtypes) {
    const auto v = values(plan_of("exact_extremes", t, 33), 0);
    for (double e : {max_finite(t), -max_finite(t), min_normal(t), min_subnormal(t), -min_subnormal(t), 0.0})
      EXPECT_NE(std::find(v.begin(), v.end(), e), v.end()) << name(t) << ' ' << e;
  }
  const Tensor constant = plan_of("constant", Dtype::f32, 33);
  std::set<double> constants;
  for (std::int64_t r = 0; r < constant.rows; ++r) {
    const auto v = values(constant, r);
    EXPECT_EQ(std::set<double>(v.begin(), v.end()).size(), 1u);
    constants.insert(v[0]);
  }
  for (double c : {0.0, 1.0, -1e3}) EXPECT_TRUE(constants.count(c)) << c;
}

TEST(Families, RowEncodedRowsDifferBeyondAShift) {
  const Tensor x = rows_of("row_encoded", Dtype::f16, 33, 60);
  std::set<std::vector<double>> shapes;
  for (std::int64_t r = 0; r < 60; ++r) {
    auto v = values(x, r);
    const double top = *std::max_element(v.begin(), v.end());
    for (double& e : v) e -= top;
    EXPECT_TRUE(shapes.insert(v).second) << r;
  }
}

TEST(Families, ClusteredWinnersShareASlice) {
  const Tensor x = plan_of("clustered_top", Dtype::bf16, 32000 / 16);
  constexpr std::int64_t kStep[] = {1, 32, 256, 1024, 1};
  for (std::int64_t r = 0; r < 5; ++r) {
    std::vector<std::int64_t> winners;
    for (std::int64_t i = 0; i < x.V; ++i)
      if (x.at(r, i) >= 6) winners.push_back(i);
    ASSERT_FALSE(winners.empty());
    for (std::size_t i = 1; i < winners.size(); ++i) EXPECT_EQ(winners[i] - winners[i - 1], kStep[r]) << r;
  }
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// A row depends on (family, dtype, V, row, seed) alone, the report runs the rows that it states, and the
// committed tensors are the ones that were recorded.
#include "reference/inputs/inputs_test.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <set>

#include "reference/error.hpp"
#include "reference/files/npy.hpp"

namespace assay {
namespace {

using namespace inputs_test;

TEST(Families, NamesAreUniqueAndWhyIsOneSentence) {
  std::set<std::string> names;
  for (const Family& f : families()) {
    const std::string name = f.name, why = f.why;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos) << name;
    EXPECT_GT(why.size(), 20u) << name;
    EXPECT_EQ(why.back(), '.') << name;
    EXPECT_EQ(why.find(". "), std::string::npos) << name << ": more than one sentence";
    EXPECT_EQ(find_family(name), &f);
  }
  EXPECT_GE(names.size(), 30u);
  EXPECT_EQ(find_family("no_such_family"), nullptr);
}

TEST(Families, ARowDependsOnItsOwnArgumentsOnly) {
  for (const Family& f : families()) {
    for (Dtype t : kDtypes) {
      for (std::int64_t V : {1, 33, 300, 4099}) {
        if (!applies(f, t, V)) continue;
        const Tensor three = make_input(f, t, V, 3, 5);
        EXPECT_TRUE(same_bytes(three, make_input(f, t, V, 3, 5))) << f.name;
        EXPECT_TRUE(same_bytes(three, make_input(f, t, V, 2, 5))) << f.name << ": row changes with rows";
      }
    }
  }
}

TEST(Families, SeedsAndRowsDiffer) {
  for (const char* name :
       {"gpt_logits", "attention_causal", "normal_1", "normal_3", "normal_10", "shifted_1000", "uniform_80",
        "long_tail", "ties", "two_valued", "mixed_magnitudes", "lane_maxima", "inf_warp"}) {
    const Tensor a = rows_of(name, Dtype::f32, 500, 2, 1), b = rows_of(name, Dtype::f32, 500, 1, 2);
    EXPECT_FALSE(same_bytes(a, b)) << name << ": the seed changes nothing";
    EXPECT_NE(std::memcmp(a.row(0), a.row(1), 2000), 0) << name << ": rows repeat";
  }
}

// Compares bits, not values: if the generator moved by one ulp, every published record would change. An
// independent implementation with libm's log agrees to one ulp.
TEST(Families, TheGeneratorIsPinned) {
  const Tensor t = rows_of("normal_1", Dtype::f64, 3, 1, 7);
  const std::uint64_t expected[] = {13827112372857066417u, 13819834656566003512u, 4607502261535153123u};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(load_bits(Dtype::f64, t.row(0), i), expected[i]) << i;
  const Tensor half = rows_of("normal_1", Dtype::f16, 3, 1, 7);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(half.at(0, i), round_to(Dtype::f16, t.at(0, i)));
}

TEST(Plan, SizesAndRowsAreTheReports) {
  EXPECT_EQ(report_sizes().size(), 18u);
  EXPECT_TRUE(std::is_sorted(report_sizes().begin(), report_sizes().end()));
  for (const Family& f : families()) {
    for (Dtype t : kDtypes) {
      for (std::int64_t V : report_sizes()) {
        const std::int64_t rows = report_rows(f, t, V, false);
        EXPECT_EQ(rows > 0, applies(f, t, V)) << f.name << ' ' << V;
        EXPECT_GE(report_rows(f, t, V, true), rows) << f.name << ' ' << V;
      }
      EXPECT_FALSE(applies(f, t, -1));
    }
  }
  const Family& normal = family("normal_1");
  for (auto [V, rows, full] : {std::array{0, 2, 2}, {129, 4, 32}, {1025, 3, 24}, {4099, 1, 3}}) {
    EXPECT_EQ(report_rows(normal, Dtype::f32, V, false), rows) << V;
    EXPECT_EQ(report_rows(normal, Dtype::f32, V, true), full) << V;
  }
  for (auto [name, cases] : {std::pair{"overflow", 10}, {"far_below", 6}, {"nan", 9}, {"inf_tile", 32}}) {
    EXPECT_EQ(report_rows(family(name), Dtype::f16, 1025, false), cases) << name;
    EXPECT_EQ(report_rows(family(name), Dtype::f16, 4099, false), 1) << name;
    EXPECT_EQ(report_rows(family(name), Dtype::f16, 4099, true), cases) << name;
  }
  for (auto [V, rows] : {std::pair{1, 1}, {1025, 1025}, {4099, 257}, {32000, 4}, {50257, 3}, {128256, 3}})
    EXPECT_EQ(report_rows(family("spike"), Dtype::f32, V, false), rows) << V;
  EXPECT_TRUE(applies(family("gpt_logits"), Dtype::f64, 32000));
  EXPECT_FALSE(applies(family("gpt_logits"), Dtype::f64, 32001));
  EXPECT_TRUE(applies(family("attention_causal"), Dtype::f32, 512));
  EXPECT_FALSE(applies(family("attention_causal"), Dtype::f32, 513));
}

// There is one row per long V and dtype; they must not all show the same case.
TEST(Plan, LongRowsShowDifferentCases) {
  std::set<double> levels;
  for (Dtype t : {Dtype::bf16, Dtype::f32})
    for (std::int64_t V : {4099, 32000, 50257, 128256})
      levels.insert(std::round(std::log10(-highest(rows_of("far_below", t, V, 1), 0))));
  EXPECT_GE(levels.size(), 4u);
}

TEST(Plan, ImpossibleCallsAreInputErrors) {
  EXPECT_THROW(rows_of("gpt_logits", Dtype::f32, 32001, 1), InputError);
  EXPECT_THROW(rows_of("ramp_1ulp", Dtype::f32, 0, 1), InputError);
  EXPECT_THROW(rows_of("normal_1", Dtype::f32, -1, 1), InputError);
  EXPECT_THROW(rows_of("normal_1", Dtype::f32, 4, -1), InputError);
  EXPECT_THROW(rows_of("normal_1", Dtype::f32, std::int64_t{1} << 40, std::int64_t{1} << 40), InputError);
  EXPECT_THROW(make_input(Family{"stranger", "why.", FamilyKind::ordinary}, Dtype::f32, 1, 1, 0), InputError);
  EXPECT_EQ(rows_of("normal_1", Dtype::f32, 0, 2).rows, 2);
}

// Facts about the recorded tensors: all 64 positions, of which the f32 file holds 24.
void expect_facts(const Tensor& x, double low, double high, double top_p, double entropy) {
  double least = kInf, most = -kInf, sum_p = 0, sum_entropy = 0;
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const auto v = values(x, r);
    const double m = *std::max_element(v.begin(), v.end());
    double s = 0, weighted = 0;
    for (double e : v) {
      least = std::min(least, e);
      s += std::exp(e - m);
      weighted += (e - m) * std::exp(e - m);
    }
    most = std::max(most, m);
    sum_p += 1 / s;
    sum_entropy += std::log(s) - weighted / s;
  }
  const auto n = static_cast<double>(x.rows);
  EXPECT_NEAR(least, low, 0.01);
  EXPECT_NEAR(most, high, 0.01);
  EXPECT_NEAR(sum_p / n, top_p, 0.005);
  EXPECT_NEAR(sum_entropy / n, entropy, 0.005);
}

TEST(RealData, LogitsAreTheCapturedOnes) {
  const Tensor f32 = rows_of("gpt_logits", Dtype::f32, 32000, 24);
  const Tensor f16 = rows_of("gpt_logits", Dtype::f16, 32000, 64);
  EXPECT_EQ(f32.bytes, read_npy(data_directory() + "/gpt_logits_f32_24x32000.npy").bytes);
  EXPECT_EQ(f16.bytes, read_npy(data_directory() + "/gpt_logits_f16_64x32000.npy").bytes);
  expect_facts(f32, -10.60, 18.18, 0.632, 2.269);
  expect_facts(f16, -10.60, 18.27, 0.549, 2.748);
}

TEST(RealData, LogitsArePrefixesInEveryDtypeAndStartAtTheSeed) {
  const Tensor full = rows_of("gpt_logits", Dtype::f32, 32000, 3);
  const Tensor bf16 = rows_of("gpt_logits", Dtype::bf16, 1000, 1, 24 + 2);
  for (std::int64_t i = 0; i < 1000; ++i) EXPECT_EQ(bf16.at(0, i), round_to(Dtype::bf16, full.at(2, i)));
}

TEST(RealData, AttentionIsCausal) {
  const Tensor x = rows_of("attention_causal", Dtype::f16, 512, 24, 1);
  std::set<std::int64_t> prefixes;
  double low = kInf, high = -kInf;
  for (std::int64_t r = 0; r < 24; ++r) {
    std::int64_t prefix = 0;
    while (prefix < 512 && std::isfinite(x.at(r, prefix))) ++prefix;
    for (std::int64_t i = prefix; i < 512; ++i) EXPECT_EQ(x.at(r, i), -kInf);
    for (std::int64_t i = 0; i < prefix; ++i)
      low = std::min(low, x.at(r, i)), high = std::max(high, x.at(r, i));
    EXPECT_GE(prefix, 1);
    prefixes.insert(prefix);
  }
  EXPECT_GE(low, -19.7);
  EXPECT_LE(high, 23);
  EXPECT_TRUE(prefixes.count(1) && prefixes.count(512) && prefixes.count(257));
  EXPECT_GE(prefixes.size(), 7u);
}

TEST(RealData, AMissingFolderIsNamed) {
  const char* before = std::getenv("ASSAY_DATA");
  const std::string kept = before ? before : "";
  ::setenv("ASSAY_DATA", "/nonexistent/folder", 1);
  try {
    rows_of("gpt_logits", Dtype::f32, 1, 1);
    ADD_FAILURE() << "read from nowhere";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("/nonexistent/folder/gpt_logits"), std::string::npos) << e.what();
  }
  before ? ::setenv("ASSAY_DATA", kept.c_str(), 1) : ::unsetenv("ASSAY_DATA");
}

}  // namespace
}  // namespace assay

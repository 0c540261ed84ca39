// SPDX-License-Identifier: Apache-2.0
// The bits of every input family. A record names only (family, dtype, V, rows, seed), where V is the row
// length, so a row may never change. The hashes in drawn_rows.txt were made when the family was added.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "kernels/registry.hpp"
#include "reference/hash/draws.hpp"

namespace assay::conformance {
namespace {

constexpr Dtype kTypes[] = {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64};
constexpr std::int64_t kLengths[] = {1, 2, 33, 129, 512, 1025, 4099, 8200, 32000, 70001};
constexpr std::uint64_t kSeeds[] = {0, 1, 7};

std::uint64_t hashed(std::uint64_t h, const Tensor& t) {
  for (const std::byte b : t.bytes) h = hash_with(h, static_cast<std::uint64_t>(b));
  return h;
}

/// All rows that any command draws if rows are short; for long rows three or one.
std::int64_t rows_of_length(std::int64_t V) { return V <= 129 ? 70 : V <= 1025 ? 40 : V <= 4099 ? 3 : 1; }

std::uint64_t hash_of(const std::string& family, Dtype dtype) {
  std::uint64_t h = kHashOfNothing;
  const Family* const known = find_family(family);
  for (const std::int64_t V : kLengths)
    for (const std::uint64_t seed : kSeeds)
      if (!known || applies(*known, dtype, V))
        h = hashed(h, make_rows(family, dtype, V, rows_of_length(V), seed));
  return h;
}

/// The lines of the file: "family dtype hash".
std::map<std::pair<std::string, std::string>, std::string> recorded() {
  std::ifstream in(ASSAY_SOURCE_DIR "/accuracy/conformance/groups/drawn_rows.txt");
  std::map<std::pair<std::string, std::string>, std::string> all;
  for (std::string family, dtype, hash; in >> family >> dtype >> hash;) all[{family, dtype}] = hash;
  return all;
}

TEST(DrawnRows, AreTheBitsThatTheyAlwaysWere) {
  const auto all = recorded();
  EXPECT_GE(all.size(), 43u * std::size(kTypes)) << "families that were there once";
  for (const Dtype dtype : kTypes)
    for (const auto& [of, hash] : all) {
      if (of.second != name(dtype)) continue;
      std::ostringstream is;
      is << std::hex << hash_of(of.first, dtype);
      EXPECT_EQ(is.str(), hash) << of.first << " " << of.second;
    }
}

/// The traits of a row's content.
trait::Set held_by(const Tensor& t, std::int64_t row) {
  trait::Set held = 0;
  std::int64_t low = 0;
  for (std::int64_t i = 0; i < t.V; ++i) {
    const double x = t.at(row, i);
    if (std::isnan(x)) held |= trait::nan;
    if (std::isinf(x) && x > 0) held |= trait::pos_inf;
    low += std::isinf(x) && x < 0;
  }
  if (low > 0) held |= trait::neg_inf;
  if (low == t.V) held |= trait::all_neg_inf;
  return held;
}

TEST(DrawnRows, HoldTheSpecialValuesThatTheFamilyIsKnownFor) {
  for (const Family& f : all_families()) {
    if ((f.traits & trait::mixed) || (f.group && f.group == std::string("big")))
      continue;  // rows of other families, chosen by V
    trait::Set held = 0;
    bool every_nan = true, every_pos = true, every_low = true;
    const Tensor t = make_input(f, Dtype::f32, 512, 40, 1);
    for (std::int64_t row = 0; row < t.rows; ++row) {
      const trait::Set one = held_by(t, row);
      held |= one;
      every_nan = every_nan && (one & trait::nan);
      every_pos = every_pos && (one & trait::pos_inf);
      every_low = every_low && (one & trait::all_neg_inf);
    }
    EXPECT_EQ(every_nan, (f.traits & trait::nan) != 0) << f.name;
    EXPECT_EQ(every_pos, (f.traits & trait::pos_inf) != 0) << f.name;
    EXPECT_EQ(every_low, (f.traits & trait::all_neg_inf) != 0) << f.name;
    const bool stronger = held & (trait::nan | trait::pos_inf);
    EXPECT_EQ((held & trait::neg_inf) && !stronger, (f.traits & trait::neg_inf) != 0) << f.name;
    EXPECT_EQ(held != 0 && f.kind != FamilyKind::real, f.kind == FamilyKind::special) << f.name;
  }
}

TEST(DrawnRows, AGroupThatAFamilyNamesTriesIt) {
  for (const Family& f : all_families()) {
    if (!f.group) continue;
    const auto group = std::find_if(groups().begin(), groups().end(),
                                    [&](const Group& g) { return g.name == std::string(f.group); });
    ASSERT_NE(group, groups().end()) << f.name << " names the group " << f.group;
    const Variant* const v = find_variant("online_block/f32@host");
    ASSERT_TRUE(v);
    const std::vector<Unit> units = group->plan({*v, Extent::normal, {}, 1, true});
    EXPECT_TRUE(std::any_of(units.begin(), units.end(),
                            [&](const Unit& u) {
                              return std::any_of(
                                  u.cases.begin(), u.cases.end(),
                                  [&](const ConformanceCase& c) { return c.family == f.name; });
                            }))
        << f.name << " is not tried by " << f.group;
  }
}

}  // namespace
}  // namespace assay::conformance

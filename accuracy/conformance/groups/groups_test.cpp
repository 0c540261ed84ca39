// SPDX-License-Identifier: Apache-2.0
// The row lengths V that the groups choose under declared limits, and the group that only launches.
#include "accuracy/conformance/groups/groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/case/job.hpp"
#include "kernels/declaration.hpp"

namespace assay::conformance {
namespace {

Variant declared(const char* key, const char* words) {
  Variant v = *find_variant(key);
  apply_declaration(words, v);
  return v;
}

TEST(NearestV, DenseRowsThatMustBeAlignedHaveALengthThatKeepsThemSo) {
  EXPECT_EQ(nearest_V(declared("online_block/f16@host", "dense=yes; alignment=8"), 259), 260);
  EXPECT_EQ(nearest_V(declared("online_block/f32@host", "dense=yes; alignment=16"), 1027), 1028);
  EXPECT_EQ(nearest_V(declared("online_block/f32@host", "dense=yes; alignment=16; V_multiple=6"), 1), 12);
  EXPECT_EQ(nearest_V(declared("online_block/f32@host", "dense=yes; alignment=16; max_V=1023"), 4099), 1020);
  // If a pitch can align the rows, every length is allowed.
  EXPECT_EQ(nearest_V(declared("online_block/f32@host", "alignment=16"), 1027), 1027);
  // One value per row is written, so only the logits are rows.
  EXPECT_EQ(nearest_V(declared("lse_block/bf16@host", "dense=yes; alignment=4"), 33), 34);
}

TEST(NearestV, OneRowMayHaveAnyLength) {
  const Variant v = declared("online_block/f16@host", "dense=yes; alignment=16");
  EXPECT_EQ(nearest_V(v, 259, 1), 259);
  EXPECT_EQ(nearest_V(v, 259, 3), 264);
  std::set<std::int64_t> of_one, of_several;
  for (const Unit& u : plan_shapes({v, Extent::quick, {}, 1, false}))
    for (const ConformanceCase& c : u.cases) (c.rows == 1 ? of_one : of_several).insert(c.V);
  // A kernel that stores 16 bytes at once writes behind one row of 259 halves, and nowhere else.
  for (std::int64_t V = 1; V <= 512; ++V) EXPECT_TRUE(of_one.contains(V)) << V;
  for (const std::int64_t V : of_several) EXPECT_EQ(V % 8, 0) << V;
  EXPECT_TRUE(of_several.contains(264));
}

TEST(NearestV, IsALengthThatTheKernelTakes) {
  // No multiple of 128 halves lies within these limits; one row of 100 does.
  EXPECT_EQ(nearest_V(declared("online_block/f16@host", "dense=yes; alignment=256; max_V=100"), 4099), 100);
  EXPECT_EQ(nearest_V(declared("online_block/f16@host", "dense=yes; alignment=16; min_V=100; max_V=100"), 7),
            100);
}

TEST(NearestV, EveryGroupLeavesCasesUnderSuchALimit) {
  const Variant v = declared("online_block/f32@host", "dense=yes; alignment=16; rows_multiple=2");
  for (const Group& g : groups()) {
    if (std::string_view(g.name) == "operands" || std::string_view(g.name) == "schedules") continue;
    std::int64_t inside = 0, all = 0;
    for (const Unit& u : g.plan({v, Extent::quick, {}, 1, false}))
      for (const ConformanceCase& c : u.cases) {
        Problem p = problem_of(v, c.op, c.rows, c.V, c.k, c.V);
        all += c.V > 0 && c.rows > 0;
        inside += c.V > 0 && c.rows > 0 && beyond_limits(v, p, 0).empty();
      }
    EXPECT_GT(2 * inside, all) << g.name << ": " << inside << " of " << all;
  }
}

ConformanceResult launches_of(Variant v) {
  ConformanceOptions o;
  o.only = {"launches"};
  o.extent = Extent::quick;
  o.threads = 1;
  return run_conformance([&] { return v; }, o);
}

TEST(Launches, AreOfManyLengthsAndJudgedByTheirEndAlone) {
  Variant v = *find_variant("online_block/f32@host");
  const ConformanceResult right = launches_of(v);
  EXPECT_GE(right.planned, 8);
  for (const Record& r : right.records) EXPECT_EQ(r.status, Status::pass) << r.V << ": " << r.reason;
  // Wrong outputs are not the subject of this group. A launch that ends badly is; a refused one is not.
  v.run = [](const Problem&, const Buffers&, const Stream&) {};
  for (const Record& r : launches_of(v).records) EXPECT_EQ(r.status, Status::pass) << r.V << ": " << r.reason;
  v.run = [](const Problem& p, const Buffers&, const Stream&) {
    if (p.V > 1024) throw std::runtime_error("V");
  };
  for (const Record& r : launches_of(v).records)
    EXPECT_EQ(r.status, r.V > 1024 ? Status::unsupported : Status::pass) << r.V << ": " << r.reason;
}

}  // namespace
}  // namespace assay::conformance

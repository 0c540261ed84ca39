// SPDX-License-Identifier: Apache-2.0
// What an adopter asks of a kernel, and what of it the kernel's limits leave out.
#include "accuracy/conformance/contract/region.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "accuracy/conformance/contract/contract.hpp"
#include "kernels/declaration.hpp"
#include "reference/error.hpp"

namespace assay::conformance {
namespace {

Variant kernel(const std::string& declaration) {
  Variant v;
  v.variant = "mine";
  v.backend = Backend::plugin;
  v.claim = undeclared_claim();
  v.limits = undeclared_limits();
  apply_declaration(declaration, v);
  return v;
}

std::string refused(const std::string& text) {
  try {
    region_of(text);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

bool covers(const std::string& region, const std::string& declaration) {
  return beyond(region_of(region), kernel(declaration)).empty();
}

TEST(Region, ReadsItsWords) {
  const Region r = region_of(
      " V = 1..131072 ;rows=1,3..9,32..4096/32; max_abs=any; pitch=any; masks=no; "
      "alignment=4;types=f16,f32;");
  ASSERT_EQ(r.V.size(), 1u);
  EXPECT_EQ(r.V[0].to, 131072);
  ASSERT_EQ(r.rows.size(), 3u);
  EXPECT_EQ(r.rows[2].step, 32);
  EXPECT_TRUE(std::isinf(r.max_abs));
  EXPECT_TRUE(r.any_pitch);
  EXPECT_FALSE(r.masks);
  EXPECT_EQ(r.alignment, 4);
  EXPECT_EQ(r.types.size(), 2u);
  EXPECT_EQ(region_of("").V[0].to, usual_region().V[0].to);
}

TEST(Region, RefusesWhatIsNone) {
  for (const char* text : {"V",           "V=",      "V=0..4",      "V=4..1",      "V=a",
                           "V=1..",       "V=1...4", "V=-1",        "V=1e3",       "V=99999999999999999999",
                           "V=1..4; V=2", "v=1",     "max_abs=0",   "max_abs=nan", "max_abs=inf",
                           "alignment=3", "pitch=4", "masks=maybe", "types=f64",   "types=",
                           "rows=1..9/0", "=",       "V=1 rows=2"})
    EXPECT_TRUE(refused(text).starts_with("--require")) << text << ": " << refused(text);
  EXPECT_FALSE(refused(std::string(5000, ';')).empty());
}

TEST(Region, ALimitInsideIsSeen) {
  EXPECT_TRUE(covers("V=1..131072; rows=1..65536", ""));
  EXPECT_TRUE(covers("V=1..131072; rows=1..65536", "max_V=131072; max_rows=65536"));
  EXPECT_FALSE(covers("V=1..131072", "max_V=131071"));
  EXPECT_FALSE(covers("V=1..131072", "V_multiple=2"));
  EXPECT_FALSE(covers("V=1..131072", "min_V=2"));
  EXPECT_FALSE(covers("rows=1..600", "max_rows=599"));
  EXPECT_FALSE(covers("rows=1..600", "rows_multiple=4"));
  EXPECT_FALSE(covers("V=1..4", "V_in={1, 2, 4}"));
  EXPECT_TRUE(covers("V=1,2,4", "V_in={1, 2, 4}"));
  EXPECT_TRUE(covers("V=32..1024/32", "V_multiple=32; max_V=1024"));
  EXPECT_FALSE(covers("V=32..1024/16", "V_multiple=32; max_V=1024"));
  EXPECT_FALSE(covers("V=1..65536; rows=1..65536", "max_elements=2147483647"));
  EXPECT_FALSE(covers("V=1..4096", "finite=yes"));
  EXPECT_TRUE(covers("V=1..4096; masks=no", "finite=yes"));
  EXPECT_FALSE(covers("V=1..4096", "max_abs=1"));
  EXPECT_TRUE(covers("V=1..4096; max_abs=1", "max_abs=1"));
  EXPECT_FALSE(covers("V=1..4096; pitch=any", "dense=yes"));
  EXPECT_TRUE(covers("V=1..4096", "dense=yes"));
  EXPECT_FALSE(covers("V=1..4096", "dense=yes; alignment=16"))
      << "dense rows of 3 do not all start at 16 bytes";
  EXPECT_TRUE(covers("V=4..4096/4", "dense=yes; alignment=16"));
  EXPECT_FALSE(covers("V=64..4096/64; alignment=4", "alignment=256"));
}

/// What the adopter types is his own; what a file declares alone is shown as its own if it matters to usual
/// callers.
TEST(Region, AFileCannotMakeItSmaller) {
  Contract c;
  add_coverage(c, kernel("V_in={2}; max_rows=1; max_abs=1; exp=fast"), "", "");
  EXPECT_EQ(c.own, "max_rows=1; V_in={2}; max_abs=1") << c.own;
  EXPECT_TRUE(c.uncovered.empty());
  EXPECT_TRUE(c.limited());
  c = {};
  add_coverage(c, kernel("V_in={2}; max_rows=1"), "V_in={2};max_rows=1", "");
  EXPECT_FALSE(c.limited()) << c.own;
  c = {};
  add_coverage(c, kernel("max_V=65536; dense=yes; all_neg_inf=any"), "", "");
  EXPECT_FALSE(c.limited()) << c.own;
  c = {};
  add_coverage(c, kernel("max_V=65536"), "", "V=1..131072");
  EXPECT_EQ(c.uncovered.size(), 1u);
  EXPECT_EQ(c.own, "max_V=65536");
  c = {};
  add_coverage(c, kernel("max_V=65536"), "max_V=65536", "V=1..131072");
  EXPECT_EQ(c.uncovered, std::vector<std::string>{"V = 65537 exceeds max_V = 65536"});
}

}  // namespace
}  // namespace assay::conformance

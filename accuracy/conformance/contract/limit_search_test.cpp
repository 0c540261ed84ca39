// SPDX-License-Identifier: Apache-2.0
// Kernels that refuse launches beyond limits of several kinds at once. Each one gets exactly the limits that
// it has. Silently wrong outputs stay a fault.
#include "accuracy/conformance/contract/limit_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "accuracy/conformance/contract/contract.hpp"
#include "accuracy/conformance/contract/region.hpp"
#include "accuracy/conformance/diagnosis/diagnosis.hpp"
#include "accuracy/verdict/strangers_test.hpp"
#include "kernels/declaration.hpp"
#include "kernels/fault_kind.hpp"
#include "reference/error.hpp"

namespace assay::conformance {
namespace {

/// The fault with which a launch is refused; FaultKind::none if it is run.
using Refuses = std::function<FaultKind(const Problem& p, std::uintptr_t logits)>;

/// A right kernel in this process, behind a launcher that refuses some of its calls.
class Refusing final : public HereLauncher {
 public:
  Refusing(Variant inner, Refuses refuses) : inner_(std::move(inner)), refuses_(std::move(refuses)) {}
  LaunchOutcome launch(const Variant&, const Problem& p, Images& images, const LaunchOptions& o) override {
    // As on a device, where allocations begin at multiples of 256 bytes.
    const FaultKind kind = refuses_(p, images.logits.offset());
    if (kind == FaultKind::none) return assay::launch(inner_, p, images, o);
    return {"no", kind == FaultKind::died ? Ended::crashed : Ended::fault, {}, 0, kind};
  }
  std::string cannot(const LaunchOptions& o) const override {
    return o.page_end || o.delayed_producer || o.slot != 0 ? "options: not here" : "";
  }

 private:
  Variant inner_;
  Refuses refuses_;
};

/// Like a plugin that declares nothing.
Variant undeclared(const char* key, const Refuses& refuses) {
  Variant inner = *find_variant(key), v = inner;
  v.limits = undeclared_limits();
  if (v.max_k > 0) v.max_k = kUndeclaredK;
  v.launcher = std::make_shared<Refusing>(inner, refuses);
  v.run = {};
  return v;
}

struct Ran {
  ContractedResult within;
  bool right = false;
  std::string failures;
};
Ran check_limits(const Variant& v, std::vector<std::string> groups = {"shapes", "rows"},
                 std::int64_t most_elements = 1 << 15) {
  ConformanceOptions o;
  // Every launch of top-k is slow here, so its short rows are enough.
  if (v.max_k > 0) o.most_elements = most_elements;
  o.extent = Extent::quick;
  o.only = std::move(groups);
  o.threads = 1;
  Ran ran;
  ran.within = run_within_contract([&] { return v; }, o, v.max_k > 0 ? "max_k=64" : "",
                                   [](const std::string&) { return std::string(); });
  const auto& records = ran.within.result.records;
  ran.right = std::none_of(records.begin(), records.end(), [](const Record& r) { return fails(r); });
  for (const Finding& f : diagnose(records))
    ran.failures += f.where + ": " + f.likely + ": " + f.detail + "\n";
  return ran;
}

constexpr FaultKind kNo = FaultKind::returned_status, kRun = FaultKind::none;

struct Limited {
  const char* found;
  Refuses refuses;
};

TEST(LimitSearch, RowsAndLengthsAreToldApart) {
  const Limited all[] = {
      {"rows_multiple=8; V_multiple=32",
       [](const Problem& p, auto) { return p.rows % 8 == 0 && p.V % 32 == 0 ? kRun : kNo; }},
      {"max_rows=64; V_multiple=32; max_V=1024",
       [](const Problem& p, auto) { return p.rows <= 64 && p.V % 32 == 0 && p.V <= 1024 ? kRun : kNo; }},
      {"rows_multiple=4; max_V=100",
       [](const Problem& p, auto) { return p.rows % 4 == 0 && p.V <= 100 ? kRun : kNo; }},
      {"min_rows=8; V_multiple=4",
       [](const Problem& p, auto) { return p.rows >= 8 && p.V % 4 == 0 ? kRun : kNo; }},
      {"rows_multiple=5; V_multiple=3",
       [](const Problem& p, auto) { return p.rows % 5 == 0 && p.V % 3 == 0 ? kRun : kNo; }},
      {"V_multiple=32; max_V=1024",
       [](const Problem& p, auto) { return p.V % 32 == 0 && p.V <= 1024 ? kRun : kNo; }},
  };
  for (const Limited& one : all) {
    const Ran ran = check_limits(undeclared("safe_block/f32@host", one.refuses));
    EXPECT_EQ(ran.within.contract.found, one.found);
    EXPECT_TRUE(ran.right) << one.found << ":\n" << ran.failures;
  }
}

TEST(LimitSearch, FewNumbersOfRows) {
  const Limited all[] = {
      {"max_rows=1", [](const Problem& p, auto) { return p.rows == 1 ? kRun : kNo; }},
      {"max_rows=2",
       [](const Problem& p, auto) {
         return p.rows == 1 || p.rows == 2 || p.rows == 4 || p.rows == 8 ? kRun : kNo;
       }},
      {"rows_multiple=64; max_rows=64", [](const Problem& p, auto) { return p.rows == 64 ? kRun : kNo; }},
      {"max_rows=3", [](const Problem& p, auto) { return p.rows <= 3 ? kRun : kNo; }},
  };
  for (const Limited& one : all) {
    const Ran ran = check_limits(undeclared("safe_block/f32@host", one.refuses));
    EXPECT_EQ(ran.within.contract.found, one.found);
    EXPECT_TRUE(ran.right) << one.found << ":\n" << ran.failures;
  }
}

/// A launch that measures a sum has more rows, and is refused. That says nothing of the wrong rows.
TEST(LimitSearch, AWrongResultIsNoLimit) {
  for (const std::int64_t most : {1, 2, 4}) {
    Variant v = strangers::stranger(strangers::two_pass), inner = v;
    inner.run = [run = v.run, most](const Problem& p, const Buffers& b, const Stream& s) {
      run(p, b, s);
      for (std::int64_t j = 0; p.rows == most && j < p.V; ++j)
        static_cast<float*>(b.probs)[(most - 1) * p.out_pitch + j] *= 0.75F;
    };
    v.limits = undeclared_limits(), v.run = {};
    const auto few = [most](const Problem& p, auto) { return p.rows <= most ? kRun : kNo; };
    v.launcher = std::make_shared<Refusing>(inner, few);
    EXPECT_FALSE(check_limits(v, {"rows", "layout"}).right) << most;
  }
}

TEST(LimitSearch, LongRowsThatEndTheProcess) {
  // The group was left before any short row was tried.
  const Variant v = undeclared("safe_block/f32@host",
                               [](const Problem& p, auto) { return p.V <= 300 ? kRun : FaultKind::died; });
  Record long_row;
  long_row.group = "shapes", long_row.family = "constant", long_row.rows = 1;
  long_row.status = Status::crashed;
  long_row.checks.push_back({Check::launch, 1, 1, 0, 0, "exited with status 1", FaultKind::died});
  std::vector<Record> records;
  for (const std::int64_t V : {4096, 50257, 151936}) records.push_back(long_row), records.back().V = V;
  const auto found = next_limits(v, records, [](const char*) { return true; });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].word, "max_V=300");
  const Ran ran = check_limits(v);
  EXPECT_EQ(ran.within.contract.found, "max_V=300");
  EXPECT_TRUE(ran.right) << ran.failures;
}

TEST(LimitSearch, TheLargestK) {
  for (const auto& [found, most] :
       {std::pair("max_k=8", 8), std::pair("max_k=2", 2), std::pair("max_k=33", 33)}) {
    const Ran ran =
        check_limits(undeclared("online_topk_block/f32@host",
                                [most = most](const Problem& p, auto) { return p.k <= most ? kRun : kNo; }),
                     {"shapes", "rows", "families"});
    EXPECT_EQ(ran.within.contract.found, found);
    EXPECT_TRUE(ran.right) << found << ":\n" << ran.failures;
  }
  const Ran ran = check_limits(
      undeclared("onepass_topk/f32@host", [](const Problem& p, auto) { return p.k <= p.V ? kRun : kNo; }),
      {"shapes", "families"});
  EXPECT_EQ(ran.within.contract.found, "k_up_to_V=yes") << ran.failures;
}

TEST(LimitSearch, ASequenceOfCallsNamesOneOfItsLengths) {
  // The sequence that is refused has a call of V = 1 in it, and its record names the longest row.
  const auto refused = [](const char* group, std::int64_t V, int k) {
    Record r;
    r.group = group, r.family = "normal_1", r.rows = 5, r.V = V, r.k = k, r.status = Status::fail;
    r.checks.push_back({Check::launch, 1, 1, 0, 0, "returned status 1", kNo});
    return r;
  };
  const Variant v = undeclared("online_topk_block/f32@host",
                               [](const Problem& p, auto) { return p.k <= p.V ? kRun : kNo; });
  Record right = refused("shapes", 33, 5);
  right.status = Status::pass, right.checks.clear();
  const std::vector<Record> records = {right, refused("shapes", 1, 5), refused("calls", 12289, 5)};
  const auto found = next_limits(v, records, [](const char*) { return true; });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].word, "k_up_to_V=yes");
  EXPECT_NE(found[0].outside.find("k = 5 of 1 logits"), std::string::npos) << found[0].outside;
}

TEST(LimitSearch, TheKBesideOtherLimits) {
  const Limited all[] = {
      {"max_k=8; k_up_to_V=yes", [](const Problem& p, auto) { return p.k <= 8 && p.k <= p.V ? kRun : kNo; }},
      {"min_V=64; max_k=8", [](const Problem& p, auto) { return p.k <= 8 && p.V >= 64 ? kRun : kNo; }},
  };
  for (const Limited& one : all) {
    const Ran ran = check_limits(undeclared("online_topk_block/f32@host", one.refuses),
                                 {"shapes", "families", "calls"}, 1 << 16);
    EXPECT_EQ(ran.within.contract.found, one.found);
    EXPECT_TRUE(ran.right) << one.found << ":\n" << ran.failures;
    EXPECT_NE(ran.within.contract.within().find("k at most"), std::string::npos)
        << ran.within.contract.within();
  }
}

TEST(LimitSearch, LengthsInASequenceOfCalls) {
  const Limited all[] = {
      {"min_V=64", [](const Problem& p, auto) { return p.V >= 64 ? kRun : kNo; }},
      {"V_multiple=32", [](const Problem& p, auto) { return p.V % 32 == 0 ? kRun : kNo; }},
      {"max_rows=128", [](const Problem& p, auto) { return p.rows <= 128 ? kRun : kNo; }},
  };
  for (const Limited& one : all) {
    const Ran ran = check_limits(undeclared("safe_block/f32@host", one.refuses), {"shapes", "rows", "calls"});
    EXPECT_EQ(ran.within.contract.found, one.found);
    EXPECT_TRUE(ran.right) << one.found << ":\n" << ran.failures;
  }
}

/// A kernel whose values are halved for these k.
Variant wrong_for(const std::function<bool(int k)>& wrong, int most) {
  Variant v = undeclared("online_topk_block/f32@host",
                         [most](const Problem& p, auto) { return p.k <= most ? kRun : kNo; });
  Variant inner = *find_variant("online_topk_block/f32@host");
  inner.run = [run = inner.run, wrong](const Problem& p, const Buffers& b, const Stream& s) {
    run(p, b, s);
    if (!wrong(p.k)) return;
    for (std::int64_t r = 0; r < p.rows; ++r)
      for (std::int64_t j = 0; j < p.out_columns(); ++j)
        static_cast<float*>(b.probs)[r * p.out_pitch + j] /= 2;
  };
  v.launcher =
      std::make_shared<Refusing>(inner, [most](const Problem& p, auto) { return p.k <= most ? kRun : kNo; });
  return v;
}

TEST(LimitSearch, AKThatIsWrongInSilenceIsAFaultAndNamed) {
  Ran ran = check_limits(wrong_for([](int k) { return k == 7; }, 64), {"families"});
  EXPECT_FALSE(ran.right);
  EXPECT_NE(ran.failures.find("k = 7"), std::string::npos) << ran.failures;
  // Refused from 33 on, wrong from 9 on: the limit hides nothing.
  ran = check_limits(wrong_for([](int k) { return k > 8; }, 32), {"families"});
  EXPECT_FALSE(ran.right);
  EXPECT_NE(ran.within.contract.within().find("k at most 32"), std::string::npos)
      << ran.within.contract.within();
  EXPECT_EQ(ran.within.contract.found, "max_k=32");
  EXPECT_NE(ran.failures.find("k of 9 or more"), std::string::npos) << ran.failures;
}

TEST(LimitSearch, AlignmentsAboveSixteenBytes) {
  for (const std::uintptr_t bytes : {std::uintptr_t{32}, std::uintptr_t{64}, std::uintptr_t{128}}) {
    const Ran ran = check_limits(
        undeclared("safe_block/f32@host",
                   [bytes](const Problem&, std::uintptr_t at) { return at % bytes == 0 ? kRun : kNo; }),
        {"shapes", "layout"});
    EXPECT_EQ(ran.within.contract.found, "alignment=" + std::to_string(bytes));
    EXPECT_TRUE(ran.right) << bytes << ":\n" << ran.failures;
  }
}

/// The record of a case of the group `big` that ended like this.
Record large(std::int64_t rows, std::int64_t V, FaultKind cause) {
  Record r;
  r.group = "big";
  r.family = "normal_1";
  r.rows = rows;
  r.V = V;
  r.status = cause == FaultKind::none ? Status::pass : Status::crashed;
  if (cause == FaultKind::none) return r;
  r.checks.push_back({.check = Check::launch,
                      .judged = 1,
                      .failed = 1,
                      .detail = "a read at address 0x7e8ba1000000",
                      .cause = cause});
  return r;
}

TEST(LimitSearch, AnIndexThatWrapsIsALimitWhereItWraps) {
  const Variant v = undeclared("safe_block/f32@host", [](const Problem&, auto) { return kRun; });
  const auto any = [](const char* word) { return std::string(word) == "max_elements"; };
  std::vector<Record> records = {large(2048, 1024, kRun), large(2097155, 1024, FaultKind::wild_access),
                                 large(4194307, 1024, FaultKind::wild_access)};
  const std::vector<FoundLimit> found = next_limits(v, records, any);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].word, "max_elements=2147483647");
  EXPECT_NE(found[0].outside.find("2097155 rows of 1024: crashes ("), std::string::npos) << found[0].outside;
  // An unsigned index reaches twice as far.
  records[1] = large(2097155, 1024, kRun);
  EXPECT_EQ(next_limits(v, records, any).at(0).word, "max_elements=4294967295");
  // The same crash with few elements is a fault, also in one row of 2^24.
  records[1] = large(1, 16777221, FaultKind::wild_access);
  records[2] = large(4194307, 1024, kRun);
  EXPECT_TRUE(next_limits(v, records, any).empty());
  records[0] = large(2048, 1024, FaultKind::wild_access);
  EXPECT_TRUE(next_limits(v, records, any).empty());
}

// What an adopter asks of a kernel, and what of it the kernel's limits leave out.

Variant kernel(const std::string& declaration) {
  Variant v;
  v.variant = "mine";
  v.backend = Backend::plugin;
  v.claim = undeclared_claim(v.op);
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

// SPDX-License-Identifier: Apache-2.0
// The sweep's page on synthetic records: every section, explanations for missing parts, hostile strings,
// invalid numbers, and figures that show what the records say.
#include "reports/sweep_page/page.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "reports/data/html.hpp"
#include "reports/page/test_data.hpp"
#include "reports/sweep/data/test_data.hpp"
#include "reports/sweep_page/goals.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay {
namespace {

using namespace test_html;
using sweep_test_data::accesses;
using sweep_test_data::records;

constexpr const char* kSections[] = {"keys",   "ladder",   "lines",   "figures", "claims",   "topk",
                                     "own",    "roofline", "heat",    "plane",   "accesses", "limits",
                                     "spills", "tutorial", "worklog", "part3",   "reading"};

/// The text of both pages, one behind the other.
std::string both(const std::vector<SweepRecord>& all, const std::vector<AccessRecord>& counts) {
  return sweep_page(all, counts) + sweep_shapes_page(all, counts);
}

/// The text of one section.
std::string section(const std::string& html, const std::string& id) {
  const auto from = html.find("<section id=\"" + id + "\"");
  return from == std::string::npos ? "" : html.substr(from, html.find("</section>", from) - from);
}

SweepRecord& find(std::vector<SweepRecord>& all, const std::string& key, std::int64_t rows, std::int64_t V,
                  int k = 0) {
  for (SweepRecord& r : all)
    if (r.key == key && r.rows == rows && r.V == V && r.k == k) return r;
  throw std::runtime_error("no such record: " + key);
}

TEST(SweepPage, HasEverySectionWithPicturesAndNothingMissing) {
  const std::string html = both(records(), accesses());
  EXPECT_EQ(unbalanced(html), "");
  for (const char* id : kSections) {
    EXPECT_EQ(occurrences(html, std::string("<section id=\"") + id + "\""), 1) << id;
    EXPECT_EQ(section(html, id).find("Not in this run"), std::string::npos) << id;
  }
  for (const char* id : {"lines", "figures", "roofline", "heat", "plane"})
    EXPECT_NE(section(html, id).find("<svg xmlns"), std::string::npos) << id;
  for (int n = 1; n <= 4; ++n)
    EXPECT_NE(section(html, "figures").find("Figure " + std::to_string(n)), std::string::npos) << n;
  EXPECT_NE(html.find("<b>PASS</b>"), std::string::npos);
}

TEST(SweepPage, GoalsStandBesideResultsAndTheBestRightPeer) {
  std::vector<SweepRecord> all = records({"f32", "f16", "bf16"});
  const auto cells = [&](const char* shapes, const char* dtypes) -> std::vector<std::string> {
    for (const speed::GoalLine& l : speed::goal_lines(speed::gather(all, {})))
      if (l.shapes == shapes && l.dtypes == dtypes) return {l.goal, l.result, l.peer, l.reached};
    return {};
  };
  const auto set = [&](const char* key, std::int64_t V, double share) {
    SweepRecord& r = find(all, key, 4000, V);
    r.median_us = *r.copy_us / share;
  };
  // Its lengths of the data: 1000, 25,000, 50,257.
  for (const char* d : {"f32", "f16", "bf16"})
    for (const std::int64_t V : {1000, 25000, 50257}) {
      set((std::string("onepass_fast/") + d + "@cuda").c_str(), V, 0.965);
      set(("cudnn_accurate/" + std::string(d) + "@cuda").c_str(), V, 0.505);
      set(("torch_softmax/" + std::string(d) + "@cuda").c_str(), V, 0.505);
      set((std::string("triton_row/") + d + "@cuda").c_str(), V, 0.605);
    }
  set("onepass_fast/f16@cuda", 25000, 0.945);
  set("triton_row/f32@cuda", 1000, 0.99);
  find(all, "triton_row/f32@cuda", 4000, 1000).verified = Status::fail;  // fast, but wrong: no peer
  EXPECT_EQ(
      cells("4000 rows, V = 1000, 12,345, 25,000, 50,257, 128,257", "f32, f16, bf16"),
      (std::vector<std::string>{"at least 95 % of the copy", "94 % (f16, 25,000) to 96 % (f32, 50,257)",
                                "50 % (cudnn_accurate) to 60 % (triton_row)", "8 of 15, 6 not in this run"}));
  EXPECT_EQ(cells("10 rows, V = 25,000 to 1,048,576", "f32, f16, bf16").at(0), "at most the copy + 1.3 us");
  std::erase_if(all, [](const SweepRecord& r) { return r.key.starts_with("onepass"); });
  EXPECT_TRUE(speed::goal_lines(speed::gather(all, {})).empty());
}

TEST(SweepPage, GoalsOfTopkStandBesideTheResultsAndTheBestRightPeerOfTheSameK) {
  std::mt19937 random(3);
  std::vector<SweepRecord> all;
  const auto add = [&](const sweep_test_data::Kernel& kernel, std::int64_t rows, std::int64_t V, int k,
                       double share, const char* family = "normal_1") {
    SweepRecord r = sweep_test_data::record(kernel, "f32", rows, V, k, random);
    r.median_us = *r.read_us / share;
    r.family = family;
    all.push_back(r);
  };
  const sweep_test_data::Kernel own{"onepass_topk_fast", "variant", "softmax_topk", 1, 0, 0.9, 1 << 21},
      fused{"torch_softmax_topk", "peer", "softmax_topk", -1, -1, 0.1, 1 << 21},
      selects{"flashinfer_topk", "peer", "topk", -1, -1, 0.4, 1 << 21};
  add(own, 4000, 8192, 5, 0.895);
  add(own, 4000, 8192, 30, 0.845);
  add(fused, 4000, 8192, 5, 0.105);
  add(fused, 4000, 8192, 30, 0.095);
  add(selects, 4000, 8192, 30, 0.405);
  add(selects, 4000, 8192, 15, 0.99);  // another k
  add(own, 10, 128256, 5, 0.5);
  all.back().median_us = *all.back().read_us + 2.5;
  add(own, 4000, 32000, 30, 0.555, "constant");
  const auto cells = [&](const std::string& shapes) {
    for (const speed::GoalLine& l : speed::goal_lines(speed::gather(all, {})))
      if (l.shapes == shapes) return std::vector<std::string>{l.goal, l.result, l.peer, l.reached};
    return std::vector<std::string>{};
  };
  EXPECT_EQ(cells("top-k, 4000 rows, k = 5 and 30, V = 8192"),
            (std::vector<std::string>{"at least 85 % of the read",
                                      "84 % (f32, 8,192, k = 30) to 89 % (f32, 8,192, k = 5)",
                                      "10 % (torch_softmax_topk) to 40 % (flashinfer_topk)", "1 of 2"}));
  EXPECT_EQ(cells("top-k, 10 rows, k = 5 and 30, V = 128,256 to 1,048,576"),
            (std::vector<std::string>{"at most the read + 3 us", "+2.5 us (f32, 128,256, k = 5)", "",
                                      "1 of 18, 17 not in this run"}));
  const auto equal = [&] { return cells("top-k, 4000 rows of equal logits, k = 30, V = 32,000"); };
  EXPECT_EQ(equal().at(1), "55 % (f32, 32,000, k = 30)");
  all.back().verified = Status::fail;
  EXPECT_EQ(equal().at(1), "not in this run");
}

TEST(SweepPage, DrawsThePapersFiguresWithOnepassTopk) {
  std::mt19937 random(3);
  std::vector<SweepRecord> all;
  for (const char* name : {"safe_then_topk", "onepass_topk"})
    for (const std::int64_t V : {4032, 16128, 64512})
      all.push_back(sweep_test_data::record({name, "variant", "softmax_topk", 1, 0, 0.9, 1 << 21}, "f32",
                                            4000, V, 5, random));
  const std::string drawn = section(both(all, {}), "figures");
  EXPECT_NE(drawn.find("With onepass_topk"), std::string::npos);
  EXPECT_NE(drawn.find("onepass_topk over safe_then_topk"), std::string::npos);
  std::erase_if(all, [](const SweepRecord& r) { return r.key.starts_with("onepass"); });
  EXPECT_EQ(section(both(all, {}), "figures").find("With onepass_topk"), std::string::npos);
}

TEST(SweepPage, AsksTheNetworkForNothing) {
  EXPECT_EQ(foreign_address(both(records(), accesses()),
                            {"sweep.html", "sweep_shapes.html#limits", "sweep_shapes.html#accesses"}),
            "");
  EXPECT_NE(foreign_address("<script src=\"x.js\"></script>"), "") << "the check would see one";
}

TEST(SweepPage, MissingPartsAreSaidInWordsWithACommand) {
  const std::vector<std::vector<SweepRecord>> runs = {{}, {records().front()}};
  for (const auto& some : runs) {
    const std::string html = both(some, {});
    EXPECT_EQ(unbalanced(html), "");
    for (const char* id :
         {"figures", "topk", "roofline", "accesses", "limits", "spills", "tutorial", "worklog", "part3"}) {
      EXPECT_NE(section(html, id).find("Not in this run"), std::string::npos) << id;
      EXPECT_NE(section(html, id).find("<code class=\"cmd\">"), std::string::npos) << id;
      EXPECT_EQ(section(html, id).find("<svg xmlns"), std::string::npos) << id << " draws an empty figure";
    }
  }
  EXPECT_NE(both({}, {}).find("<b>FAIL</b>"), std::string::npos) << "nothing ran, so nothing passes";
  EXPECT_EQ(sweep_summary({}, {}).substr(0, 6), "# FAIL");
}

TEST(SweepPage, EveryRecordAloneIsAPage) {
  std::vector<SweepRecord> all = records({"f32"}, {4000});
  for (std::size_t i = 0; i < all.size(); i += 37) {
    const std::string html = both({all[i]}, {});
    EXPECT_EQ(unbalanced(html), "") << all[i].key;
    EXPECT_EQ(paths(html).find_first_not_of("MLHVACamlhvacz0123456789.- \n"), std::string::npos)
        << all[i].key;
  }
}

TEST(SweepPage, NumbersThatAreNoneBreakNoPicture) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  std::vector<SweepRecord> all = records({"f32"}, {4000, 10});
  std::vector<AccessRecord> counts = accesses();
  int i = 0;
  for (SweepRecord& r : all) {
    const double v = ++i % 2 ? nan : inf;
    if (i % 3 == 0) r.share_of_copy = v, r.share_of_read = v, r.max_ulp = v, r.max_utilisation = v;
    if (i % 5 == 0) r.share_of_copy.reset(), r.copy_us.reset(), r.read_us.reset(), r.max_ulp.reset();
    if (i % 7 == 0) r.median_us = v, r.gb_per_s = v, r.accesses_at_copy_speed = v;
    if (i % 11 == 0) r.median_us.reset();
    if (i % 13 == 0) r.accesses_at_copy_speed = 0, r.copy_us = 0, r.empty_us = v;
  }
  for (AccessRecord& a : counts) {
    const double v = ++i % 2 ? nan : inf;
    if (i % 3 == 0) a.dram_read = v, a.issue_share = v, a.registers = v, a.time_us = 0;
    if (i % 4 == 0) a.dram_write.reset(), a.occupancy.reset(), a.loads = v;
    if (i % 5 == 0) a.instructions_per_element = v, a.local_bytes = v, a.claimed_loads.reset();
  }
  const std::string html = both(all, counts), drawn = paths(html);
  EXPECT_EQ(unbalanced(html), "");
  ASSERT_FALSE(drawn.empty());
  EXPECT_EQ(drawn.find_first_not_of("MLHVACamlhvacz0123456789.- \n"), std::string::npos);
  for (const char* bad : {"data-v=\"nan", "data-v=\"-nan", ">nan", ">-nan", "nan%", "inf%", "nan "})
    EXPECT_EQ(html.find(bad), std::string::npos) << bad;
}

TEST(SweepPage, EscapesEveryString) {
  const std::string evil = "<script>&\"'";
  std::vector<SweepRecord> all = records({"f32"}, {4000});
  all[3].status = Status::fail;
  for (SweepRecord& r : all) {
    // The variant's name ends at the slash, so the hostile text is inserted before it.
    r.key = r.key.substr(0, r.key.find('/')) + evil + r.key.substr(r.key.find('/'));
    for (std::string* s : {&r.reason, &r.gpu, &r.driver, &r.cuda, &r.compiler, &r.flags, &r.commit, &r.family,
                           &r.cold, &r.verified_reason, &r.reproduce})
      *s += evil;
  }
  std::vector<AccessRecord> counts = accesses();
  for (AccessRecord& a : counts) a.key = evil + a.key, a.gpu += evil;
  const std::string html = both(all, counts);
  EXPECT_EQ(unbalanced(html), "");
  EXPECT_EQ(occurrences(html, "<script>"), 2);  // only the pages' own
  EXPECT_EQ(html.find("&\""), std::string::npos);
  EXPECT_GT(occurrences(html, "&lt;script&gt;&amp;&quot;&#39;"), 50);
}

TEST(SweepPage, ShowsAFailureWithItsReasonAndCommand) {
  std::vector<SweepRecord> all = records({"f32"}, {4000});
  SweepRecord& r = find(all, "online_block/f32@cuda", 4000, 4096);
  r.status = Status::fail, r.verified = Status::fail, r.reason = "row 7, column 3: got 0, exact 1.7e-3";
  const std::string html = both(all, {});
  EXPECT_NE(html.find("<b>FAIL</b>"), std::string::npos);
  EXPECT_EQ(html.find("<b>PASS</b>"), std::string::npos);
  EXPECT_NE(html.find("row 7, column 3: got 0, exact 1.7e-3"), std::string::npos);
  EXPECT_NE(html.find(escape(r.reproduce)), std::string::npos);
  EXPECT_NE(sweep_summary(all, {}).find(r.reproduce), std::string::npos);
}

TEST(SweepPage, AWrongKernelFailsAndIsNotDrawn) {
  std::vector<SweepRecord> all = records({"f32"}, {4000});
  EXPECT_TRUE(speed::passed(all));
  SweepRecord& r = find(all, "online_block/f32@cuda", 4000, 4096);
  r.verified = Status::unsupported;
  EXPECT_TRUE(speed::passed(all));
  EXPECT_NE(speed::verdict_line(all).find("1 of them outside what can be judged"), std::string::npos);
  r.verified = Status::fail;
  EXPECT_FALSE(speed::passed(all));
  const speed::Context c = speed::gather(all, {});
  EXPECT_EQ(c.at("online_block", "f32", 4000, 4096), nullptr) << "a wrong kernel's speed is no speed";
  EXPECT_NE(c.at("online_block", "f32", 4000, 8192), nullptr);
}

TEST(SweepPage, AWrongPeerIsMarkedAndFailsNobody) {
  std::vector<SweepRecord> all = records({"f32"}, {4000});
  find(all, "torch_softmax/f32@cuda", 4000, 4096).verified = Status::fail;
  find(all, "triton_row/f32@cuda", 4000, 4096).status = Status::fail;
  EXPECT_TRUE(speed::passed(all));
  EXPECT_EQ(speed::count(all).peers_failed, 1);
  EXPECT_NE(section(both(all, {}), "keys").find("<span class=\"bad\">1 wrong</span>"), std::string::npos);
}

TEST(SweepPage, PaperClaimsAreMeasuredFromTheRecords) {
  std::vector<SweepRecord> all = records({"f32"}, {4000});
  for (SweepRecord& r : all)
    if (r.median_us && r.key.starts_with("safe_block/"))
      r.median_us = 130;
    else if (r.median_us && r.key.starts_with("online_block/"))
      r.median_us = 100;
  const auto claim = [&](const std::vector<SweepRecord>& of) {
    for (const speed::PaperClaim& p : speed::paper_claims(speed::gather(of, {})))
      if (p.what.starts_with("batch 4000, V from 4000: online") && p.fast == "online_block") return p;
    throw std::runtime_error("no such claim");
  };
  speed::PaperClaim p = claim(all);
  EXPECT_NEAR(p.median, 1.3, 1e-12);
  EXPECT_STREQ(p.verdict(), "reproduced");
  for (SweepRecord& r : all)
    if (r.key.starts_with("safe_block/")) r.median_us = 100;
  p = claim(all);
  EXPECT_NEAR(p.median, 1, 1e-12);
  EXPECT_STREQ(p.verdict(), "less");
  EXPECT_STREQ(claim({}).verdict(), "not in this run");
}

TEST(SweepPage, OwnRooflineTakesTheAccessesOfTheClaim) {
  std::vector<SweepRecord> all = records({"f32"}, {4000});
  SweepRecord& r = find(all, "online_block/f32@cuda", 4000, 32768);
  r.accesses_at_copy_speed = 3.2;
  EXPECT_NEAR(*speed::own_share(r), 3 / 3.2, 1e-12) << "2 + 1";
  r.claimed_loads = 3;
  EXPECT_NEAR(*speed::own_share(r), 4 / 3.2, 1e-12);
  r.claimed_loads = {};
  EXPECT_FALSE(speed::own_share(r).has_value());
}

TEST(SweepPage, MemoryShareTakesTheBytesThatMoved) {
  std::vector<SweepRecord> all = records({"f32"}, {4000});
  SweepRecord& r = find(all, "online_block/f32@cuda", 4000, 32768);
  r.accesses_at_copy_speed = 3.2;
  EXPECT_FALSE(speed::memory_share(speed::gather(all, {}), r).has_value()) << "a claim is no count";
  std::vector<AccessRecord> counts;
  for (AccessRecord a : accesses())
    if (a.key == "online_block/f32@cuda" && a.V == 32768)
      a.dram_read = 1.5, a.dram_write = 0.9, counts.push_back(a);
  ASSERT_EQ(counts.size(), 1u);
  // 0.9 had been written when the kernel ended; the rest of the outputs was still to be written.
  EXPECT_NEAR(*speed::memory_share(speed::gather(all, counts), r), 2.5 / 3.2, 1e-12);
  counts[0].dram_write = 1.2;
  EXPECT_NEAR(*speed::memory_share(speed::gather(all, counts), r), 2.7 / 3.2, 1e-12);
  counts[0].V = 32000;
  EXPECT_NEAR(*speed::memory_share(speed::gather(all, counts), r), 2.7 / 3.2, 1e-12);
  counts[0].V = 16384;
  EXPECT_FALSE(speed::memory_share(speed::gather(all, counts), r).has_value())
      << "caches may hold those rows";
}

TEST(SweepPage, AccessesOffTheClaimAreMarked) {
  std::vector<AccessRecord> honest = accesses(), more = accesses();
  std::erase_if(honest, [](const AccessRecord& a) { return !a.key.starts_with("online_block/"); });
  more = honest;
  for (AccessRecord& a : more)
    if (a.source == "host counters") a.loads = 3;
  EXPECT_EQ(section(both({}, honest), "accesses").find("% beside the claim"), std::string::npos);
  EXPECT_NE(section(both({}, more), "accesses").find("% beside the claim"), std::string::npos);
  EXPECT_NE(section(both({}, honest), "accesses").find("L2 holds the rest"), std::string::npos);
}

TEST(SweepPage, TheWorklogIsComparedWhereTorchRan) {
  std::vector<SweepRecord> all = records({"f32"}, {4000});
  EXPECT_EQ(section(both(all, {}), "worklog").find("here 1,008"), std::string::npos);
  std::erase_if(all, [](const SweepRecord& r) { return r.role == "peer" && r.V % 63 != 0; });
  EXPECT_NE(section(both(all, {}), "worklog").find("<small>here 1,008</small>"), std::string::npos);
}

TEST(SweepPage, AHostSweepSaysWhatItIs) {
  std::vector<SweepRecord> all = records({"f32"}, {4000});
  for (SweepRecord& r : all) r.backend = "host", r.key.replace(r.key.find('@'), std::string::npos, "@host");
  const std::string html = both(all, {});
  EXPECT_EQ(unbalanced(html), "");
  EXPECT_NE(html.find("say nothing about a GPU"), std::string::npos);
  for (const char* id : {"figures", "claims", "own", "roofline", "tutorial", "worklog"})
    EXPECT_NE(section(html, id).find("Not in this run: a GPU&#39;s times"), std::string::npos) << id;
  EXPECT_NE(section(html, "keys").find("online_block"), std::string::npos);
  EXPECT_EQ(sweep_summary(all, {}).find("the paper"), std::string::npos);
  EXPECT_EQ(both(records({"f32"}, {4000}), {}).find("say nothing about a GPU"), std::string::npos);
}

TEST(SweepPage, AVariantLooksTheSameEverywhere) {
  const auto css = [](const char* v) { return std::string(speed::look(v).css); };
  EXPECT_EQ(css("online_block"), css("online_block_sized"));
  EXPECT_NE(css("online_block"), css("safe_block"));
  EXPECT_NE(css("safe_then_topk"), css("safe_topk_block"));
  EXPECT_TRUE(speed::look("online_block_sized").dashed);
  EXPECT_FALSE(speed::look("online_block").dashed);
  const std::string style = both({}, {});
  for (const auto& k : sweep_test_data::kKernels)
    EXPECT_NE(style.find("." + css(k.name) + "{color:var("), std::string::npos) << k.name;
}

TEST(SweepPage, AThresholdIsNoK) {
  constexpr sweep_test_data::Kernel kTopP = {"onepass_top_p", "variant", "top_p", 2, 1, 0.9, 1 << 21};
  std::vector<SweepRecord> all = records();
  std::vector<AccessRecord> counted = accesses();
  std::mt19937 random(1);
  for (const std::int64_t rows : {4000, 10, 1})
    for (const std::int64_t V : sweep_test_data::kSizes) {
      SweepRecord r = sweep_test_data::record(kTopP, "f32", rows, V, 0, random);
      r.threshold = 0.9, all.push_back(r);
      AccessRecord a = counted.back();
      static_cast<CaseShape&>(a) = r;
      a.key = r.key, a.source = "ncu", a.registers = 32, a.local_bytes = 1;
      counted.push_back(a);
    }
  const std::string html = both(all, counted);
  EXPECT_EQ(html.find("k = 900"), std::string::npos);
  for (const char* id : {"plane", "roofline"})
    EXPECT_NE(section(html, id).find("onepass_top_p"), std::string::npos) << id;
  for (const char* id : {"keys", "heat", "accesses", "limits", "spills"})
    EXPECT_NE(section(html, id).find("threshold 0.9"), std::string::npos) << id;
  EXPECT_NE(section(html, "keys").find("k = 5"), std::string::npos);
  EXPECT_NE(both({}, counted).find("threshold 0.9"), std::string::npos) << "the registry knows the op";
  // It writes a row of values, as softmax does: what it can reach is the speed of a copy.
  EXPECT_FALSE(reads_only(all.back()));
  EXPECT_EQ(speed::share(all.back()), all.back().share_of_copy);
  EXPECT_NE(speed::describe(all.back()).find(", threshold 0.9: "), std::string::npos);
  EXPECT_NE(speed::describe(all.back()).find("of the copy"), std::string::npos);
}

TEST(SweepPage, NumbersAreCutNotRoundedUp) {
  EXPECT_EQ(speed::percent(0.8999), "89 %");
  EXPECT_EQ(speed::percent(0.9), "90 %");
  EXPECT_EQ(speed::percent(0.0456), "4.5 %");
  EXPECT_EQ(speed::percent(0.00129), "0.12 %");
  EXPECT_EQ(speed::percent(std::nan("")), "-");
  EXPECT_EQ(speed::duration(12.34), "12.3 us");
  EXPECT_EQ(speed::duration(25000), "25.0 ms");
}

}  // namespace
}  // namespace assay

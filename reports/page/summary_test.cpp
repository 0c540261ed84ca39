// SPDX-License-Identifier: Apache-2.0
// The summaries and the verdict of a synthetic run, and the number formats that all renderers use.
#include "reports/data/summary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>

#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/checker.hpp"
#include "reference/inputs/inputs.hpp"
#include "reports/data/digest.hpp"
#include "reports/data/html.hpp"
#include "reports/page/page.hpp"
#include "reports/page/test_data.hpp"
#include "reports/runs/utilisation.hpp"

namespace assay {
namespace {

using namespace test_data;

TEST(Summary, NothingRunOrTooLittleRunIsAFailure) {
  ReportData data = synthetic();
  data.executed = data.planned - 1;
  EXPECT_FALSE(report_passed(data));
  EXPECT_NE(page_of(data).find("<b>FAIL</b>"), std::string::npos);
  EXPECT_NE(render_summary_terminal(data, "p").find("FAIL: 1 of"), std::string::npos);
  data.executed = data.planned = 0;
  data.records.clear();
  EXPECT_FALSE(report_passed(data));
  EXPECT_NE(render_summary_markdown(data).find("NOT RUN: no case was executed"), std::string::npos);
  EXPECT_FALSE(report_passed(ReportData{}));
}

TEST(Summary, NothingJudgedIsAFailure) {
  ReportData data = synthetic();
  std::erase_if(data.records, [](const Record& r) { return r.status == Status::not_run; });
  for (Record& r : data.records) r.status = Status::unsupported;
  EXPECT_FALSE(report_passed(data));
  EXPECT_NE(render_summary_terminal(data, "p").find("NOT JUDGED: no case could be judged"),
            std::string::npos);
}

TEST(Summary, EachBadStatusFailsAndTheOthersDoNot) {
  for (Status s : {Status::fail, Status::inconclusive, Status::crashed, Status::hung}) {
    ReportData data = synthetic();
    first_passing(data).status = s;
    EXPECT_FALSE(report_passed(data)) << name(s);
  }
  // An undecided case makes the report inconclusive. It does not make the kernel wrong.
  ReportData open = synthetic();
  first_passing(open).status = Status::inconclusive;
  EXPECT_EQ(verdict_of(open), Verdict::inconclusive);
  EXPECT_NE(render_summary_terminal(open, "p").find("INCONCLUSIVE: "), std::string::npos);
  break_one(open);
  EXPECT_EQ(verdict_of(open), Verdict::fail);
  for (Status s : {Status::unsupported, Status::not_run}) {
    ReportData data = synthetic();
    first_passing(data).status = s;
    EXPECT_TRUE(report_passed(data)) << name(s);
  }
}

TEST(Summary, ACheckOfLostCasesIsNeitherPassedNorFailed) {
  ReportData data = synthetic();
  EXPECT_EQ(verdict_of(data), Verdict::pass);
  for (Record& r : data.records) r.group = "shapes";
  first_passing(data).status = Status::not_run;
  --data.executed;
  EXPECT_EQ(verdict_of(data), Verdict::incomplete);
  EXPECT_NE(render_summary_markdown(data).find("INCOMPLETE: 1 of"), std::string::npos);
  EXPECT_NE(page_of(data).find("<b>INCOMPLETE</b>"), std::string::npos);
  // A failed case counts, even if other cases were lost.
  break_one(data);
  EXPECT_EQ(verdict_of(data), Verdict::fail);
  for (Record& r : data.records) r.status = Status::not_run;
  data.executed = 0;
  EXPECT_EQ(verdict_of(data), Verdict::not_run);
  EXPECT_STREQ(name(verdict_of(data)), "NOT RUN");
}

TEST(Summary, LaunchesAloneAreNoPass) {
  ReportData data = synthetic();
  for (Record& r : data.records) r.group = "launches";
  EXPECT_EQ(verdict_of(data), Verdict::not_judged);
  EXPECT_NE(render_summary_markdown(data).find("NOT JUDGED: launches came back"), std::string::npos);
  EXPECT_NE(page_of(data).find("<b>NOT JUDGED</b>"), std::string::npos);
  // One output that was judged is enough, and one launch that went wrong.
  first_passing(data).group = "shapes";
  EXPECT_EQ(verdict_of(data), Verdict::pass);
  for (Record& r : data.records) r.group = "launches";
  first_passing(data).status = Status::crashed;
  EXPECT_EQ(verdict_of(data), Verdict::fail);
}

/// A launch without an element comes back, whatever the kernel computes.
TEST(Summary, CasesTooCoarseToJudgeAreNoPass) {
  ReportData data = synthetic();
  std::erase_if(data.records, [](const Record& r) { return r.status == Status::not_run; });
  for (Record& r : data.records) {
    r.group = "shapes";
    r.status = Status::unsupported;
    r.why = Why::coarse;
    r.reason = "x";  // the verdict does not hang on the words
  }
  const auto verdict = [&] { return verdict_of(data); };
  EXPECT_EQ(verdict(), Verdict::not_judged) << "none passed";
  Record& first = data.records.front();
  first.status = Status::pass, first.reason = "";
  first.V = 0;
  EXPECT_EQ(verdict(), Verdict::not_judged) << "one without an element passed";
  EXPECT_NE(verdict_reason(data).find("no output was judged: "), std::string::npos) << verdict_reason(data);
  first.V = 33;
  EXPECT_EQ(verdict(), Verdict::judged_in_part) << "one passed";
  EXPECT_NE(page_of(data).find("<b>JUDGED IN PART</b>"), std::string::npos);
  EXPECT_NE(render_summary_markdown(data).find(": JUDGED IN PART"), std::string::npos);
  for (Record& r : data.records) r.key = first.key, r.status = Status::pass;
  EXPECT_EQ(verdict(), Verdict::pass);
}

/// A machine without a GPU does not run a kernel, and the machine of another part does.
TEST(Summary, AKernelThatRanInOnePartOnlyMakesTheRunIncomplete) {
  ReportData data = synthetic();
  EXPECT_EQ(verdict_of(data), Verdict::pass);
  const std::string key = first_passing(data).key;
  for (KeyInfo& k : data.keys)
    if (k.key == key) k.not_run = "no GPU: no driver";
  EXPECT_EQ(verdict_of(data), Verdict::pass) << "the part had no case of it";
  data.records.push_back(first_passing(data));
  data.records.back().status = Status::not_run;
  EXPECT_EQ(verdict_of(data), Verdict::incomplete);
  EXPECT_NE(verdict_reason(data).find("cases of it are lacking"), std::string::npos) << verdict_reason(data);
}

TEST(Summary, TerminalEndsWithVerdictCountsCausesAndPage) {
  ReportData data = synthetic();
  const Record& r = break_one(data);
  const std::string text = render_summary_terminal(data, "out/index.html");
  const auto verdict = text.find("FAIL: "), counts = text.find(" planned, "),
             cause = text.find("1. " + r.key), again = text.find(r.reproduce, cause),
             page = text.find("page: out/index.html\n");
  ASSERT_NE(page, std::string::npos);
  EXPECT_TRUE(verdict < counts && counts < cause && cause < again && again < page) << text;
  EXPECT_EQ(page + std::string("page: out/index.html\n").size(), text.size());
  EXPECT_NE(text.find("fail: element (1 record)"), std::string::npos) << text;
}

TEST(Summary, GroupsCausesByKeyAndCheckWorstFirst) {
  ReportData data = synthetic();
  int n = 0;
  for (Record& r : data.records)
    if (r.worst && r.variant == "safe_block" && n++ < 5) r.status = Status::fail, r.checks[1].failed = 1;
  for (Record& r : data.records)
    if (r.worst && r.variant == "online_warp") {
      r.status = Status::crashed;
      break;
    }
  const Digest digest(data, Digest::Depth::all);
  const auto all = summary_of(digest).causes;
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].status, Status::crashed);
  EXPECT_EQ(all[0].check, name(Status::crashed));
  EXPECT_EQ(all[1].check, "row_sum");
  EXPECT_EQ(all[1].count, 5);
}

TEST(Summary, MarkdownTablesKeepTheirShape) {
  ReportData data = synthetic();
  break_one(data).checks[0].detail = "a | b\nc";
  const std::string md = render_summary_markdown(data);
  EXPECT_NE(md.find("a \\| b c"), std::string::npos);
  EXPECT_NE(md.find("# Softmax accuracy report: FAIL"), std::string::npos);
  EXPECT_NE(md.find("`online_block`"), std::string::npos);
  EXPECT_EQ(md.find("| nan |"), std::string::npos);
}

TEST(Html, NumbersHaveThreeDigitsAndNoNan) {
  EXPECT_EQ(plain_number(0), "0");
  EXPECT_EQ(plain_number(0.50312), "0.503");
  EXPECT_EQ(plain_number(1234), "1,230");
  EXPECT_EQ(plain_number(12345), "12,300");
  EXPECT_EQ(plain_number(-1234567), "-1.23e6");
  EXPECT_EQ(plain_number(1.23e-7), "1.23e-7");
  EXPECT_EQ(plain_number(999.7), "1,000");
  EXPECT_EQ(number(std::nan("")), kDash);
  EXPECT_EQ(number(std::optional<double>{}), kDash);
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
  EXPECT_EQ(plain_percent(0.99999), ">99.9%");
  EXPECT_EQ(plain_percent(1), "100%");
  EXPECT_EQ(shorten("abcdef", 3), "abc...");
  EXPECT_EQ(hexfloat(1.5), "0x1.8p+0");
}

// An error profile compares each error with the bound of the same element. On the page, the error of an
// element that passes is drawn below its bound.

TEST(Profile, AnErrorStandsBesideTheBoundOfItsOwnElement) {
  Profile p;
  // Both errors are within their own bounds, but the larger error is above the smaller bound.
  p.element(0.5, 2, 2, 3);
  p.element(0.6, 0.4, 0.4, 1);
  // An error beyond its bound is kept, and not a larger error within its bound.
  p.element(4.5, 9, 9, 10);
  p.element(4.6, 3, 3, 2);
  p.element(4.7, 8, 8, 10);
  p.element(8.5, NAN, NAN, 2);
  p.element(8.6, 1, 1, 2);
  p.finish();
  ASSERT_EQ(p.bins.size(), 3u);
  EXPECT_EQ(p.bins[0].max_ulp, 2);
  EXPECT_EQ(p.bins[0].bound_ulp, 3);
  EXPECT_EQ(p.bins[0].count, 2);
  EXPECT_DOUBLE_EQ(p.bins[0].mean_ulp, 1.2);
  EXPECT_EQ(p.bins[1].max_ulp, 3);
  EXPECT_EQ(p.bins[1].bound_ulp, 2);
  EXPECT_TRUE(std::isnan(p.bins[2].max_ulp));
}

TEST(Profile, WhatPassesStandsUnderItsBoundInEveryFormat) {
  for (const char* key : {"safe_block/f16@host", "safe_block/bf16@host", "safe_block/f32@host"}) {
    const Variant& v = *find_variant(key);
    for (const char* family : {"uniform_80", "normal_10"}) {
      Profile p;
      CheckOptions options;
      options.profile = &p;
      const Record r = check_case(v, Case(*find_family(family), v.dtype, 1025, 2, 1), v.op, 0, options);
      EXPECT_EQ(r.status, Status::pass) << key << ": " << r.reason;
      p.finish();
      ASSERT_FALSE(p.bins.empty());
      for (const auto& bin : p.bins) EXPECT_LE(bin.max_ulp, bin.bound_ulp) << key << ", " << family;
    }
  }
}

TEST(Profile, WhatPassesIsDrawnUnderItsBound) {
  ReportData data = test_data::synthetic();
  for (Profile& p : data.profiles) {
    p.bins.clear();
    // More bins than a panel can show, so that the plot merges neighbours.
    for (int i = 0; i < 200; ++i)
      p.bins.push_back({0.5 * i, 0.5 * (i + 1), 10, i % 2 ? 0.4 : 2.0, i % 2 ? 1.0 : 3.0, 0.2});
  }
  const std::string html = test_data::all_pages(data);
  int drawn = 0;
  const auto number_after = [&](std::size_t at, const char* word) {
    return std::stod(html.substr(html.find(word, at) + std::string(word).size()));
  };
  for (std::size_t at = html.find("|x - m| from "); at != std::string::npos;
       at = html.find("|x - m| from ", at + 1), ++drawn)
    ASSERT_LE(number_after(at, "largest "), number_after(at, ", bound ")) << html.substr(at, 120);
  EXPECT_GT(drawn, 50);
}

// The page's matrix of error/bound, its list of bounds that test nothing, and its table of claims, on
// synthetic records.

using namespace test_data;

TEST(Utilisation, TakesTheLargestOfAClassOverKeysAndFamilies) {
  ReportData data = synthetic();
  for (Record& r : data.records)
    for (CheckResult& c : r.checks) c.utilisation = c.check == Check::row_sum ? 5e-4 : 0.25;
  for (Record& r : data.records)
    if (r.variant == "safe_block" && r.family == "normal_1" && r.V == 33)
      for (CheckResult& c : r.checks)
        if (c.check == Check::row_sum) c.utilisation = 0.5;
  int rows = 0;
  for (const ClassUtilisation& u : class_utilisation(data)) {
    EXPECT_GT(u.judged, 0);
    if (u.check != "row_sum") continue;
    ++rows;
    const bool safe = u.kind.starts_with("safe, exp accurate");
    EXPECT_EQ(u.largest.value, safe ? 0.5 : 5e-4) << u.kind;
    if (safe) {
      EXPECT_EQ(u.largest.V, 33);
    }
  }
  EXPECT_GT(rows, 5);
  const std::string html = all_pages(data);
  EXPECT_NE(html.find("<b>defect of the bound</b>: online, exp accurate"), std::string::npos);
  EXPECT_EQ(html.find("<b>defect of the bound</b>: safe, exp accurate"), std::string::npos);
}

TEST(Utilisation, ColoursWhatFailsAndWhatIsSharp) {
  ReportData data = synthetic();
  Record& r = first_passing(data);
  r.status = Status::fail, r.max_bound_ratio = 1.25;
  const std::string html = all_pages(data);
  EXPECT_NE(html.find("<td class=\"u-over\" data-v=\"1.25\" title=\"" + r.key + ", " + r.family),
            std::string::npos);
  EXPECT_NE(html.find("<td class=\"u-sharp\""), std::string::npos);
}

TEST(Utilisation, EveryKeyShowsItsClaimAndWhatItBehavesLike) {
  ReportData data = synthetic(1, {"host"});
  data.families.push_back({kProbeFamily, kProbeWhy});
  for (KeyInfo& k : data.keys) {
    k.claimed = "claimed by " + k.key;
    Record r;
    r.key = k.key, r.variant = k.variant, r.dtype = k.dtype, r.backend = k.backend, r.op = k.op;
    r.family = kProbeFamily, r.V = 131071, r.rows = 1, r.rows_judged = 1;
    r.status = Status::pass, r.behaves_like = "like " + k.key;
    r.checks = {{Check::claim, 100, 0, 0, 0, ""}};
    r.evidence = {"division: division ieee, sharper than claimed; 9 quotients <&>"};
    r.probes = {{"division", "division ieee", true, 0, "", "9 quotients <&>"}};
    if (k.variant == "safe_block") {
      r.status = Status::fail, r.reason = "failed: claim", r.checks[0].failed = 7;
      r.evidence.push_back("sum_exp: exp fast; the claim is refuted 7 times of 9: 1 is 2");
      r.probes.push_back({"sum_exp", "exp fast", false, 7, "", ""});
    }
    data.records.push_back(r);
    ++data.planned, ++data.executed;
  }
  const std::string html = all_pages(data);
  for (const KeyInfo& k : data.keys) {
    EXPECT_NE(html.find("claimed by " + k.key), std::string::npos);
    EXPECT_NE(html.find("like " + k.key), std::string::npos);
  }
  EXPECT_NE(html.find("sharper than claimed: division ieee"), std::string::npos);
  EXPECT_NE(html.find("<li class=\"bad\">sum_exp"), std::string::npos);
  EXPECT_NE(html.find("93 of 100 consequences"), std::string::npos);
  EXPECT_NE(html.find("9 quotients &lt;&amp;&gt;"), std::string::npos);
}

}  // namespace
}  // namespace assay

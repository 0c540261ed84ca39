// SPDX-License-Identifier: Apache-2.0
// The page on a synthetic run: balanced tags, no network, hostile strings, invalid numbers.
#include "reports/page/page.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "reports/data/html.hpp"
#include "reports/data/summary.hpp"
#include "reports/page/svg.hpp"
#include "reports/page/test_data.hpp"

namespace assay {
namespace {

using namespace test_data;
using namespace test_html;

TEST(Page, TagsBalanceAndTheParserWouldNotice) {
  EXPECT_NE(unbalanced("<p><b>x</p></b>"), "");
  EXPECT_NE(unbalanced("<p>1 < 2</p>"), "");
  EXPECT_NE(unbalanced("<div><p>x</p>"), "");
  EXPECT_EQ(unbalanced("<p title=\"a > b\">x<br><i/></p>"), "");
  for (const ReportData& data : {synthetic(), ReportData{}})
    for (const auto& [name, html] : render_pages(data)) EXPECT_EQ(unbalanced(html), "") << name;
}

TEST(Page, HasEverySectionAndPictures) {
  const ReportData data = synthetic();
  const auto has = [](const std::string& html, const std::vector<const char*>& sections) {
    for (const char* id : sections)
      EXPECT_EQ(occurrences(html, std::string("<section id=\"") + id + "\""), 1) << id;
  };
  has(page_of(data), {"kernels", "reading"});
  has(page_of(data, "compare.html"),
      {"variants", "utilisation", "resolution", "special", "domain", "families", "worst", "oracle"});
  for (const std::string& variant : kVariants) {
    const std::string page = page_of(data, "kernels/" + variant + ".html");
    has(page,
        {"accuracy", "size", "resolution", "behaviour", "special", "families", "accesses", "speed", "worst"});
    const bool outside = std::any_of(data.records.begin(), data.records.end(), [&](const Record& r) {
      return r.variant == variant && (r.status == Status::unsupported || r.rows_outside > 0);
    });
    EXPECT_EQ(occurrences(page, "<section id=\"domain\""), outside ? 1 : 0) << variant;
    // A top-k of the logits has no error, so it has no profile.
    if (variant != "topk_block") has(page, {"distance", "signed"});
  }
  const std::string html = all_pages(data);
  EXPECT_GT(occurrences(html, "<svg xmlns"), 3 * 10);  // at least the three plots of ten variants
  EXPECT_NE(html.find("row 0: NaN x3, 0 x5"), std::string::npos);
  EXPECT_NE(html.find("<td>NaN <span class=\"good\">pass</span></td>"),
            std::string::npos);  // one cell for every V
  EXPECT_NE(html.find("0x1."), std::string::npos);
}

TEST(Page, AThresholdIsNoK) {
  ReportData data = synthetic(1, {"host"});
  for (KeyInfo& k : data.keys)
    if (k.variant == "safe_block") k.op = "top_p";
  InFolder in_folder;
  for (const std::int64_t V : {1000, 4000}) {
    SweepRecord r;
    r.key = "safe_block/f32@host", r.op = "top_p", r.dtype = "f32", r.backend = "host", r.V = V, r.rows = 10;
    r.threshold = 0.9, r.status = Status::pass, r.verified = Status::pass, r.median_us = 1;
    r.share_of_copy = 0.7, r.share_of_read = 0.4;
    in_folder.sweep.push_back(r);
    AccessRecord a;
    a.key = r.key, a.source = "host counters", a.rows = 10, a.V = V, a.threshold = r.threshold;
    in_folder.accesses.push_back(a);
  }
  std::string html;
  for (const auto& [name, text] : render_pages(data, in_folder))
    if (name == "kernels/safe_block.html") html = text;
  EXPECT_NE(html.find("10 rows, threshold 0.9"), std::string::npos);
  EXPECT_NE(html.find("70.0% of the copy"), std::string::npos);
  EXPECT_NE(html.find(">threshold</th>"), std::string::npos);
  EXPECT_EQ(html.find("900000"), std::string::npos);
  EXPECT_EQ(html.find("900,000"), std::string::npos);
}

TEST(Page, AsksTheNetworkForNothing) {
  const auto pages = render_pages(synthetic());
  std::set<std::string> names;
  for (const auto& [name, html] : pages) names.insert(name);
  for (const auto& [name, html] : pages) {
    EXPECT_EQ(foreign_address(html, names), "") << name;
    EXPECT_NE(html.find("<link rel=\"icon\" href=\"data:,\">"), std::string::npos);
  }
}

TEST(Page, EscapesEveryString) {
  ReportData data = synthetic();
  const std::string evil = "<script>&\"'";
  Record& broken = break_one(data);
  broken.checks[0].detail += evil, broken.reproduce += evil;
  for (auto& [label, value] : data.environment) label += evil, value += evil;
  for (FamilyInfo& f : data.families) f.name += evil, f.why += evil;
  data.part = "part 0 of 8" + evil;
  for (KeyInfo& k : data.keys) {
    for (std::string* s : {&k.key, &k.variant, &k.dtype, &k.backend, &k.op, &k.algorithm, &k.exp, &k.division,
                           &k.internals, &k.accesses, &k.policy, &k.determinism})
      *s += evil;
    if (!k.not_run.empty()) k.not_run += evil;
  }
  for (Record& r : data.records) {
    for (std::string* s : {&r.key, &r.variant, &r.dtype, &r.backend, &r.op, &r.family, &r.reproduce})
      *s += evil;
    if (!r.reason.empty()) r.reason += evil;
    if (!r.returned.empty()) r.returned += evil;
  }
  for (Profile& p : data.profiles)
    for (std::string* s : {&p.key, &p.variant, &p.dtype, &p.backend, &p.family}) *s += evil;
  const auto pages = render_pages(data);
  std::string html;
  for (const auto& [name, text] : pages) {
    EXPECT_EQ(unbalanced(text), "") << name;
    EXPECT_EQ(name.find_first_of("<>&\"'"), std::string::npos);
    html += text;
  }
  EXPECT_EQ(occurrences(html, "<script>"), static_cast<int>(pages.size()));  // only each page's own
  EXPECT_EQ(html.find("&\""), std::string::npos);
  EXPECT_GT(occurrences(html, "&lt;script&gt;&amp;&quot;&#39;"), 100);
  EXPECT_EQ(render_summary_markdown(data).find("\n<script>"), std::string::npos);
}

TEST(Page, StaysSmallWithSixtyThousandRecords) {
  const ReportData data = synthetic(4, {"cuda", "host", "host_fma"});
  ASSERT_GT(data.records.size(), 60000u);
  for (const auto& [name, html] : render_pages(data)) {
    EXPECT_LT(html.size(), name == "index.html"     ? 100'000u
                           : name == "compare.html" ? 1'000'000u
                                                    : 300'000u)
        << name;
    EXPECT_EQ(unbalanced(html), "");
  }
}

TEST(Page, ShowsAFailureWithItsCheckAndCommand) {
  ReportData data = synthetic();
  EXPECT_TRUE(report_passed(data));
  EXPECT_NE(page_of(data).find("<b>PASS</b>"), std::string::npos);
  const Record& r = break_one(data);
  const std::string html = page_of(data), its = page_of(data, "kernels/" + r.variant + ".html");
  for (const std::string& page : {html, its}) {
    // The failure and its command stand directly below the verdict, before everything else.
    const auto verdict = page.find("<b>FAIL</b>"), command = page.find(escape(r.reproduce));
    ASSERT_NE(command, std::string::npos);
    EXPECT_LT(command - verdict, 2000u);
    EXPECT_LT(command, page.find("class=\"counts\""));
  }
  EXPECT_FALSE(report_passed(data));
  EXPECT_NE(html.find("<b>FAIL</b>"), std::string::npos);
  EXPECT_EQ(html.find("<b>PASS</b>"), std::string::npos);
  EXPECT_NE(html.find("row 3, column 511: got 0, exact 1.7e-3"), std::string::npos);
  EXPECT_NE(html.find(escape(r.reproduce)), std::string::npos);
}

/// The last rounding brings every right kernel of 16 bits near 1, so it tells none from another.
TEST(Page, TheComparisonLeavesOutTheLastRounding) {
  ReportData data = synthetic(1, {"host"});
  std::erase_if(data.records, [](const Record& r) { return r.key != "safe_block/f16@host"; });
  for (Record& r : data.records)
    if (r.max_bound_ratio && r.worst) {
      r.max_bound_ratio = 0.995;
      for (CheckResult& c : r.checks)
        if (c.check == Check::element) c.utilisation = 0.0625;
    }
  const std::string html = page_of(data, "compare.html");
  const std::size_t matrix = html.find("<section id=\"variants\""),
                    keys = html.find("Every key and its claim");
  ASSERT_LT(matrix, keys);
  const std::string first = html.substr(matrix, keys - matrix);
  EXPECT_NE(first.find("data-v=\"0.0625\""), std::string::npos);
  EXPECT_EQ(first.find("data-v=\"0.995\""), std::string::npos);
  EXPECT_EQ(html.find("figure of merit"), std::string::npos);
  const std::string families = html.substr(html.find("<section id=\"families\""));
  EXPECT_NE(families.find("data-v=\"0.0625\""), std::string::npos);
}

TEST(Page, ShowsKeysThatDidNotRun) {
  const std::string html = page_of(synthetic());
  EXPECT_NE(html.find("32 keys not run: no GPU: no device answers"), std::string::npos);
  EXPECT_NE(html.find("<code>online_block/f16@cuda</code>"), std::string::npos);
}

TEST(Page, NumbersThatAreNoneBreakNoPicture) {
  ReportData data = synthetic();
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  int i = 0;
  for (Record& r : data.records) {
    if (!r.max_ulp || ++i % 3) continue;
    const double v = i % 2 ? nan : inf;
    r.max_ulp = v, r.p99_ulp = v, r.mean_ulp = v, r.max_bound_ratio = v, r.correctly_rounded = v;
    r.worst->ulp_error = inf, r.worst->bound_ratio = nan, r.worst->got = nan;
    r.status = Status::fail;  // a pass can not have such a share of a bound
  }
  for (Profile& p : data.profiles) {
    if (++i % 2) p.signed_limit = i % 4 ? nan : inf;
    for (std::size_t b = 0; b < p.bins.size(); b += 3) {
      p.bins[b].max_ulp = b % 2 ? nan : inf, p.bins[b].mean_ulp = nan;
      p.bins[b].bound_ulp = b % 2 ? inf : nan, p.bins[b].distance_hi = inf;
    }
  }
  const std::string html = all_pages(data), drawn = paths(html);
  for (const auto& [name, text] : render_pages(data)) EXPECT_EQ(unbalanced(text), "") << name;
  ASSERT_FALSE(drawn.empty());
  EXPECT_EQ(drawn.find_first_not_of("MLHVACamlhvacz0123456789.- \n"), std::string::npos);
  EXPECT_EQ(html.find("data-v=\"nan"), std::string::npos);
  for (auto at = html.find("<td class=\"n"); at != std::string::npos;
       at = html.find("<td class=\"n", at + 1)) {
    const auto text = html.find('>', at) + 1;
    EXPECT_FALSE(html.compare(text, 3, "nan") == 0 || html.compare(text, 4, "-nan") == 0);
  }
}

TEST(Page, CountsTheAnswersThatItDoesNotShow) {
  ReportData data = synthetic(1, {"host"});
  const char* const answers[] = {"row 0: NaN x1", "row 0: 0 x1", "row 0: inf x1", "row 0: -inf x1"};
  std::size_t n = 0;
  for (Record& r : data.records)
    if (r.variant == "online_block" && !r.returned.empty()) r.returned = answers[n++ % 4];
  ASSERT_GT(n, 20u);
  const std::string html = page_of(data, "compare.html");
  EXPECT_NE(html.find("and 1 other answer<"), std::string::npos);
  EXPECT_EQ(html.find("and 1 other answers"), std::string::npos);
}

TEST(Page, APeerStandsBesideTheKernelAtThePeersOwnShapes) {
  const ReportData data = synthetic(1, {"host"});
  InFolder in_folder;
  // Outputs are judged before and after the timing.
  const auto add = [&](const char* key, const char* role, std::int64_t V, double ulp,
                       std::int64_t rows_judged = 10) {
    SweepRecord r;
    r.verified_elements = 2 * rows_judged * V;
    r.key = key, r.role = role, r.op = "softmax", r.dtype = "f32", r.backend = "host";
    r.family = "normal_1", r.V = V, r.rows = 10, r.max_ulp = ulp, r.status = Status::pass,
    r.verified = Status::pass;
    // A sample is not said to be one if there is another reason, as here.
    if (key == std::string_view("weak_peer/f32@host"))
      r.verified = Status::unsupported, r.verified_reason = "bound too weak: the error is larger";
    else if (rows_judged < 10)
      r.verified_reason = fmt::format("{} of 10 rows judged", rows_judged);
    in_folder.sweep.push_back(r);
  };
  add("safe_block/f32@host", "variant", 1000, 3);
  add("safe_block/f32@host", "variant", 4000, 11);
  add("safe_block/f32@host", "variant", 90000, 50);
  add("safe_block/f32@host", "variant", 5000, 60, 8);
  add("close_peer/f32@host", "peer", 1000, 4);
  add("far_peer/f32@host", "peer", 4000, 12);
  add("best_peer/f32@host", "peer", 90000, 1, 8);
  add("weak_peer/f32@host", "peer", 90000, 2, 8);
  add("half_peer/f32@host", "peer", 90000, 2, 5);
  add("whole_peer/f32@host", "peer", 5000, 2);
  add("wrong_peer/f32@host", "peer", 90000, std::numeric_limits<double>::infinity(), 1);
  std::string index, own;
  for (const auto& [name, text] : render_pages(data, in_folder)) {
    if (name == "index.html") index = text;
    if (name == "kernels/safe_block.html") own = text;
  }
  EXPECT_NE(index.find(">3.00<small class=\"wrap\">close_peer 4.00</small>"), std::string::npos)
      << "not 11.0 or 50.0, which the best peer was not judged on";
  for (const char* sampled : {"best_peer", "weak_peer", "half_peer"})
    EXPECT_EQ(index.find(sampled), std::string::npos) << sampled << ": only some of its rows were judged";
  EXPECT_EQ(index.find("whole_peer"), std::string::npos) << "only some rows of the kernel were judged there";
  EXPECT_NE(index.find("wrong_peer inf"), std::string::npos) << "a wrong row is enough";
  EXPECT_NE(index.find("its most accurate peer"), std::string::npos);
  EXPECT_NE(own.find("data-v=\"12\">12.0<small>this kernel 11.0<br>1 shape</small></td>"), std::string::npos);
  EXPECT_EQ(page_of(data).find("most accurate peer"), std::string::npos) << "no peer, no word of one";
}

TEST(Svg, DegenerateAxesStillDraw) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const Axis& a :
       {Axis{0, 0, true, ""}, Axis{nan, nan, false, ""}, Axis{5, 5, false, ""}, Axis{1, inf, true, ""}}) {
    Plot p(a, a, "x");
    const std::vector<Plot::Point> points = {{0, 0, ""}, {nan, 1, ""}, {1, inf, ""}, {-inf, -1, ""}};
    p.line(points, "ln");
    p.points(points, Marker::circle, "f32");
    const std::string svg = p.str();
    EXPECT_EQ(unbalanced(svg), "");
    EXPECT_EQ(paths(svg).find_first_not_of("MLHVACamlhvacz0123456789.- \n"), std::string::npos) << svg;
  }
}

TEST(Svg, LabelsAreWrittenWhereThereIsRoom) {
  const std::vector<Plot::Label> apart = {{0.2, 0.2, "one"}, {0.8, 0.8, "two"}, {std::nan(""), 0.5, "none"}};
  Plot roomy({0, 1, false, ""}, {0, 1, false, ""}, "x");
  roomy.labels(apart);
  EXPECT_NE(roomy.str().find(">one<"), std::string::npos);
  EXPECT_NE(roomy.str().find(">two<"), std::string::npos);
  EXPECT_EQ(roomy.str().find(">none<"), std::string::npos);
  Plot crowded({0, 1, false, ""}, {0, 1, false, ""}, "x");
  crowded.labels(std::vector<Plot::Label>(30, {0.5, 0.5, "same"}));
  EXPECT_EQ(occurrences(crowded.str(), ">same<"), 4) << "right, left, above, below, and no fifth over them";
}

/// Names of lines stand right of everything that is drawn, none over another, also where lines end at one
/// point.
TEST(Svg, NamesOfEndsAreApartAndBesideTheLines) {
  const auto y_of = [](const std::string& svg, const std::string& name) {
    const std::size_t end = svg.find(">" + name + "<"), at = svg.rfind(" y=\"", end);
    return end == svg.npos ? std::nan("") : std::stod(svg.substr(at + 4));
  };
  for (const double where : {0.0, 0.5, 1.0}) {
    Plot p({1, 2, false, ""}, {0, 1, false, ""}, "x");
    p.leave_room_at_right(4);
    const std::vector<Plot::Point> line = {{1, where, ""}, {2, where, ""}};
    std::vector<Plot::Label> ends;
    for (const char* name : {"bf16", "f16", "f32"}) {
      p.line(line, "ln");
      ends.push_back({2, where, name});
    }
    ends.push_back({1, where, "gone"});  // a line that the last run does not have
    p.names_of_ends(ends);
    const std::string svg = p.str();
    const double at[] = {y_of(svg, "bf16"), y_of(svg, "f16"), y_of(svg, "f32"), y_of(svg, "gone")};
    for (int i = 0; i < 3; ++i) EXPECT_GE(at[i + 1] - at[i], 9.9) << svg;
    EXPECT_GE(at[0], 10) << svg;
    EXPECT_LE(at[3], 200 - 34) << svg;
    // The line ends left of where its name begins.
    const std::size_t text = svg.find(">bf16<"), x = svg.rfind("<text x=\"", text);
    const std::size_t end = svg.find('L', svg.find("class=\"ln\""));
    EXPECT_LT(std::stod(svg.substr(end + 1)) + 3, std::stod(svg.substr(x + 9))) << svg;
  }
}

}  // namespace
}  // namespace assay

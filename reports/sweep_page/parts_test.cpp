// SPDX-License-Identifier: Apache-2.0
// Parts of the sweep's pages: colours and marks that every reader can tell apart, legends, the best line
// behind a panel, tables without empty columns, links to the kernels' pages, rows split over two GPUs, and
// what batch invariance costs.
#include "reports/sweep_page/parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "kernels/registry.hpp"
#include "reports/data/files.hpp"
#include "reports/page/test_data.hpp"
#include "reports/sweep/data/test_data.hpp"
#include "reports/sweep_page/goals.hpp"
#include "reports/sweep_page/page.hpp"

namespace assay {
namespace {

using sweep_test_data::records;
using test_html::occurrences;
using Three = std::array<double, 3>;

constexpr const char* kPeers[] = {"cudnn_accurate",  "cudnn_fast", "cub_topk",   "torch_softmax",
                                  "torch_compile",   "torch_topk", "triton_row", "flashinfer",
                                  "flashinfer_topk", "quack",      "liger",      "torch_softmax_topk"};

std::string part_of(const std::string& html, const std::string& id) {
  const auto from = html.find("<section id=\"" + id + "\"");
  return from == std::string::npos ? "" : html.substr(from, html.find("</section>", from) - from);
}

/// The red, green and blue light of "--name:#rrggbb" in a style sheet.
Three light_of(std::string_view css, const std::string& name) {
  const auto at = css.find("--" + name + ":#");
  if (at == css.npos) throw std::runtime_error("no colour " + name);
  Three out{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double v = std::stoi(std::string(css.substr(at + name.size() + 4 + 2 * i, 2)), nullptr, 16) / 255.0;
    out[i] = v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  }
  return out;
}

Three times(const std::array<Three, 3>& m, const Three& v) {
  Three out{};
  for (std::size_t i = 0; i < 3; ++i) out[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
  return out;
}

/// CIE L*a*b* for the white of a screen (D65).
Three lab(const Three& light) {
  const Three xyz = times({Three{0.4124564, 0.3575761, 0.1804375}, Three{0.2126729, 0.7151522, 0.0721750},
                           Three{0.0193339, 0.1191920, 0.9503041}},
                          light);
  const auto f = [](double t) { return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116; };
  const double x = f(xyz[0] / 0.95047), y = f(xyz[1]), z = f(xyz[2] / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

/// How a reader sees light: Machado, Oliveira and Fernandes, 2009, severity 1.
struct Vision {
  const char* name;
  std::array<Three, 3> of;
};
constexpr Vision kVisions[] = {
    {"all colours", {Three{1, 0, 0}, Three{0, 1, 0}, Three{0, 0, 1}}},
    {"deuteranopia",
     {Three{0.367322, 0.860646, -0.227968}, Three{0.280085, 0.672501, 0.047413},
      Three{-0.011820, 0.042940, 0.968881}}},
    {"protanopia",
     {Three{0.152286, 1.052583, -0.204868}, Three{0.114503, 0.786281, 0.099216},
      Three{-0.003882, -0.048116, 1.051998}}},
    {"tritanopia",
     {Three{1.255528, -0.076749, -0.178779}, Three{-0.078411, 0.930809, 0.147602},
      Three{0.004733, 0.691367, 0.303900}}},
};

double apart(const Vision& vision, const Three& a, const Three& b) {
  const auto seen = [&](const Three& light) {
    Three out = times(vision.of, light);
    for (double& v : out) v = std::clamp(v, 0.0, 1.0);
    return lab(out);
  };
  const Three x = seen(a), y = seen(b);
  return std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

std::vector<std::string> all_names() {
  std::set<std::string> names(std::begin(kPeers), std::end(kPeers));
  for (const Variant& v : registry()) names.insert(v.variant);
  for (const auto& k : sweep_test_data::kKernels) names.insert(k.name);
  return {names.begin(), names.end()};
}

TEST(SweepPageLooks, ColoursWithOneMarkerAreApartForEveryReader) {
  std::map<Marker, std::set<std::string>> colours;
  for (const std::string& v : all_names()) colours[speed::look(v).marker].insert(speed::look(v).css);
  const std::filesystem::path pages = std::filesystem::path(ASSAY_SOURCE_DIR) / "reports";
  const std::string page = read_file(pages / "page/page.css"),
                    sweep = read_file(pages / "sweep_page/sweep.css");
  const auto dark = [](std::string_view css) { return css.substr(css.find("prefers-color-scheme:dark")); };
  int pairs = 0;
  for (const bool night : {false, true}) {
    const auto light = [&](const std::string& css) {
      const std::string name = css == "c-other" ? "ink" : css.substr(2);
      const std::string_view from = name == "ink" ? page : sweep;
      return light_of(night ? dark(from) : from, name);
    };
    for (const auto& [marker, of] : colours)
      for (auto a = of.begin(); a != of.end(); ++a)
        for (auto b = std::next(a); b != of.end(); ++b, ++pairs)
          for (const Vision& v : kVisions)
            EXPECT_GE(apart(v, light(*a), light(*b)), 10)
                << *a << " and " << *b << (night ? ", dark, " : ", light, ") << v.name;
  }
  EXPECT_GT(pairs, 100);
  // It sees what is too close: an orange and an ochre that were two families' colours.
  const std::string close = "--a:#c2500f;--b:#8f6a00;";
  EXPECT_LT(apart(kVisions[1], light_of(close, "a"), light_of(close, "b")), 10);
}

TEST(SweepPageLooks, PeersShareNoMarkerWithKernels) {
  std::set<Marker> peers;
  std::set<std::pair<std::string, Marker>> of_peers;
  for (const char* p : kPeers)
    peers.insert(speed::look(p).marker), of_peers.emplace(speed::look(p).css, speed::look(p).marker);
  EXPECT_EQ(of_peers.size(), std::size(kPeers)) << "each peer has a look of its own";
  for (const Variant& v : registry()) {
    EXPECT_FALSE(peers.contains(speed::look(v.variant).marker)) << v.variant;
    EXPECT_FALSE(std::string(speed::look(v.variant).css) == "c-other" &&
                 speed::look(v.variant).marker == Marker::cross)
        << v.variant << " looks like a kernel that nobody knows";
  }
}

TEST(SweepPageLooks, ALegendListsEachLookOnce) {
  const std::vector<std::string> names = all_names();
  const std::string marks = speed::legend(names, false);
  std::set<std::string> samples;
  std::size_t at = 0;
  int entries = 0;
  for (; (at = marks.find("<li>", at)) != marks.npos; ++entries) {
    const auto end = marks.find("</svg>", at);
    samples.insert(marks.substr(at, end - at));
    at = end;
  }
  EXPECT_EQ(samples.size(), static_cast<std::size_t>(entries));
  for (const std::string& n : names) EXPECT_NE(marks.find(n), std::string::npos) << n;
  EXPECT_NE(marks.find("online_block, online_block_exp2"), std::string::npos) << marks;
  // Lines show the dashes of a benchmark's form.
  EXPECT_EQ(occurrences(speed::legend({"safe_block", "safe_block_sized"}), "<li>"), 2);
  EXPECT_EQ(occurrences(speed::legend({"safe_block", "safe_block_sized"}, false), "<li>"), 1);
  EXPECT_STRNE(speed::look("safe_then_topk_sized").css, speed::look("online_then_topk").css);
}

/// The height of the last point of the best line in the panel of a kernel.
double best_end(const std::string& html, const std::string& kernel) {
  const auto panel = html.find("<figcaption>" + kernel + "<");
  const auto line = html.find("class=\"ln best\"", panel);
  if (panel == html.npos || line == html.npos) return NAN;
  const std::string d = html.substr(line, html.find("/>", line) - line);
  return std::stod(d.substr(d.find(' ', d.rfind('L')) + 1));
}

TEST(SweepPageLines, TheBestIsOfAllRightKernelsAndPeers) {
  std::mt19937 random(2);
  std::vector<SweepRecord> all;
  const auto add = [&](const char* name, const char* role, std::int64_t V, double share) -> SweepRecord& {
    SweepRecord r =
        sweep_test_data::record({name, role, "softmax", 1, 1, 0.9, 1 << 21}, "f32", 4000, V, 0, random);
    r.share_of_copy = share;
    all.push_back(r);
    return all.back();
  };
  for (const std::int64_t V : {1024, 4096}) {
    add("safe_block", "variant", V, 0.5), add("onepass", "variant", V, 0.8);
    add("onepass_invariant", "variant", V, 0.5);  // has no panel
  }
  const auto drawn = [&] { return part_of(sweep_shapes_page(all, {}), "lines"); };
  const double before = best_end(drawn(), "safe_block");
  ASSERT_TRUE(std::isfinite(before));
  EXPECT_EQ(best_end(drawn(), "onepass"), before) << "one line for all kernels of an op";
  all.back().share_of_copy = 0.95;
  const double higher = best_end(drawn(), "safe_block");
  EXPECT_LT(higher, before - 5) << "a kernel without a panel counts";
  add("torch_softmax", "peer", 4096, 1.0).verified = Status::fail;
  EXPECT_EQ(best_end(drawn(), "safe_block"), higher) << "a wrong peer does not";
  all.back().verified = Status::pass;
  EXPECT_LT(best_end(drawn(), "safe_block"), higher - 1) << "a right one does";
  all.pop_back();
  // Only a peer ran there, and it is slow: the line does not fall to it.
  add("torch_softmax", "peer", 8192, 0.1);
  EXPECT_EQ(best_end(drawn(), "safe_block"), higher);
}

TEST(SweepPageTables, LeaveOutWhatWasNotTimed) {
  std::vector<SweepRecord> all = records();
  const auto worklog_heads = [&] {
    return occurrences(part_of(sweep_page(all, {}), "worklog"), "<th class=\"n\">here</th>");
  };
  const auto tutorial = [&] { return part_of(sweep_page(all, {}), "tutorial"); };
  EXPECT_EQ(worklog_heads(), 4);
  EXPECT_EQ(occurrences(tutorial(), "<th class=\"n\">here</th>"), 4);
  std::erase_if(all, [](const SweepRecord& r) {
    return r.key.starts_with("triton_row") || r.key.starts_with("three_kernel");
  });
  EXPECT_EQ(worklog_heads(), 3);
  EXPECT_EQ(occurrences(tutorial(), "<th class=\"n\">here</th>"), 2)
      << "no three kernels, and no ratio to them";
  EXPECT_NE(tutorial().find("Not in this run"), std::string::npos);
  EXPECT_EQ(part_of(sweep_page(all, {}), "part3").find("<th>triton_row</th>"), std::string::npos);
  // The kernels were timed, but not at the tutorial's shapes.
  std::erase_if(all, [](const SweepRecord& r) { return r.rows <= 64; });
  EXPECT_NE(part_of(sweep_page(all, {}), "part3").find("<table"), std::string::npos);
  EXPECT_EQ(tutorial().find("<table"), std::string::npos);
  EXPECT_NE(tutorial().find("Not in this run"), std::string::npos);
}

TEST(SweepPageTables, OwnKernelsComeFirstAndLinkToTheirPages) {
  std::vector<SweepRecord> all = records({"f32"}, {4000});
  const std::string html = sweep_page(all, {}, {}, {"online_block"});
  EXPECT_NE(html.find("<a href=\"kernels/online_block.html\">online_block</a>"), std::string::npos);
  EXPECT_EQ(html.find("kernels/safe_block.html"), std::string::npos) << "it has no page";
  const std::string keys = part_of(html, "keys");
  EXPECT_LT(keys.rfind("safe_topk_block"), keys.find("cudnn_accurate")) << "peers are the last rows";
  // What failed of a peer stands far below; what failed of this project stands above the table.
  const auto fail = [&](const char* key) {
    std::vector<SweepRecord> some = all;
    for (SweepRecord& r : some)
      if (r.key == key && r.V == 4096) r.status = Status::fail, r.reason = "it is bad", r.median_us.reset();
    const std::string page = sweep_page(some, {});
    return page.find("it is bad") < page.find("<section id=\"keys\"");
  };
  EXPECT_TRUE(fail("safe_block/f32@cuda"));
  EXPECT_FALSE(fail("triton_row/f32@cuda"));
}

TEST(SweepPageTables, AGoalWithoutAPeerHasADash) {
  std::vector<SweepRecord> all = records({"f32"}, {4000});
  std::erase_if(all, [](const SweepRecord& r) { return r.role == "peer"; });
  const std::string ladder = part_of(sweep_page(all, {}), "ladder");
  EXPECT_EQ(ladder.find("<td></td>"), std::string::npos);
  EXPECT_NE(ladder.find("<td>&ndash;</td>"), std::string::npos);
}

SplitRecord split(const char* dtype, const char* exchange, double share, double us) {
  SplitRecord r;
  r.key = std::string("onepass_split_fast/") + dtype + "@cuda";
  r.dtype = dtype;
  r.gpus = 2;
  r.rows = 4000;
  r.V = 262144;
  r.exchange = exchange;
  r.status = Status::pass;
  r.verified = Status::pass;
  r.median_us = us;
  r.shares = {{0, 0, 131072, us, us * share, {}, share, {}}, {1, 131072, 131072, us, us, {}, 1.0, {}}};
  return r;
}

speed::GoalLine line_of(const std::vector<SplitRecord>& splits) {
  for (const speed::GoalLine& l : speed::goal_lines(speed::gather(records(), {}, splits)))
    if (l.shapes.starts_with("two GPUs")) return l;
  return {};
}

TEST(SweepPageSplits, TheFastestRightSplitOfNcclStandsBesideTheGoal) {
  EXPECT_EQ(line_of({}).result, "not in this run");
  SplitRecord wrong = split("f32", "nccl", 0.99, 1300), failed = wrong;
  wrong.verified = Status::fail;
  failed.status = Status::fail;
  const speed::GoalLine l =
      line_of({split("f32", "nccl", 0.91, 1500), split("f32", "nccl", 0.80, 1700), wrong, failed,
               split("f16", "nccl", 0.85, 800), split("f32", "held", 0.95, 1450)});
  EXPECT_EQ(l.result, "NCCL: 85 % (f16) to 91 % (f32); the same, the slice held on the chip: 95 % (f32)");
  EXPECT_EQ(l.reached, "1 of 3, 1 not in this run");
  EXPECT_NE(sweep_page(records(), {}, {split("f32", "nccl", 0.91, 1500)}).find("two GPUs, 4000 rows"),
            std::string::npos);
}

TEST(SweepPageSplits, BatchInvarianceIsComparedAtShapesThatBothHave) {
  std::vector<SweepRecord> all = records({"f32"}, {4000, 10});
  EXPECT_TRUE(speed::invariance_lines(speed::gather(all, {})).empty());
  EXPECT_EQ(sweep_summary(all, {}).find("onepass_fast's, least and most"), std::string::npos);
  std::vector<SweepRecord> invariant;
  for (const SweepRecord& r : all)
    if (r.key == "onepass_fast/f32@cuda" && (r.V == 1000 || r.V == 25000)) {
      invariant.push_back(r);
      invariant.back().key = "onepass_invariant/f32@cuda";
      *invariant.back().median_us *= r.rows == 10 ? 4 : r.V == 1000 ? 1 : 1.21;
    }
  ASSERT_EQ(invariant.size(), 4u);
  SweepRecord only = invariant[0];
  only.V = 999;  // the other kernel was not timed there
  invariant.push_back(only);
  all.insert(all.end(), invariant.begin(), invariant.end());
  const auto lines = speed::invariance_lines(speed::gather(all, {}));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].rows, 4000);
  EXPECT_EQ(lines[0].least_and_most(), "1.00x (V = 1,000) to 1.21x (V = 25,000)");
  EXPECT_EQ(lines[0].mean(), "1.10x");
  EXPECT_EQ(lines[0].lengths, "2 V from 1,000 to 25,000");
  EXPECT_EQ(lines[1].rows, 10);
  EXPECT_EQ(lines[1].mean(), "4.00x");
  EXPECT_NE(sweep_page(all, {}).find("What batch invariance costs"), std::string::npos);
}

}  // namespace
}  // namespace assay

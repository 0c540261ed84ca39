// SPDX-License-Identifier: Apache-2.0
// Figures 1 to 4 of Milakov & Gimelshein (arXiv 1805.02867) with this machine's data: elements a second over
// V, and below as bars how many times faster the better algorithm is.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/data/html.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {
namespace {

constexpr int kTopk = 5;  // as in the paper's Figures 3 and 4

struct Picture {
  int number;
  std::int64_t rows;
  int k;
  std::vector<std::string> lines;
  std::string slow, fast;  // the bars show the ratio of their times
  double published;        // the paper's ratio at long rows
};

bool of_the_paper(std::int64_t V) {
  return V % 63 == 0 && (V / 63 & (V / 63 - 1)) == 0;  // 63 x 2^i
}

/// The paper's own V if there are at least three: V between them have other alignments.
std::vector<std::int64_t> drawn_sizes(const Context& c, const std::string& variant, std::int64_t rows,
                                      int k) {
  std::vector<std::int64_t> all = c.sizes(variant, "f32", rows, k), own = all;
  std::erase_if(own, [](std::int64_t V) { return !of_the_paper(V); });
  return own.size() >= 3 ? own : all;
}

std::string draw(const Context& c, const Picture& p) {
  std::vector<std::int64_t> sizes;
  double top = 0;
  for (const std::string& v : p.lines)
    for (const std::int64_t V : drawn_sizes(c, v, p.rows, p.k)) {
      sizes.push_back(V);
      top = std::max(top, elements_per_second(*c.at(v, "f32", p.rows, V, p.k)) / 1e9);
    }
  if (sizes.empty()) return "";
  const Axis x = size_axis(sizes);
  Plot speed(x, {0, 1.06 * top, false, "10^9 elements/s"},
             fmt::format("Figure {}: elements per second over V", p.number), 560, 280);
  std::size_t letters = 0;
  for (const std::string& v : p.lines)
    if (!drawn_sizes(c, v, p.rows, p.k).empty()) letters = std::max(letters, v.size());
  // A narrow screen shows the letters larger than the picture (sweep.css).
  letters += letters / 5;
  speed.leave_room_at_right(letters);
  std::vector<std::string> shown;
  std::vector<Plot::Label> ends;
  for (const std::string& v : p.lines) {
    std::vector<Plot::Point> points;
    for (const std::int64_t V : drawn_sizes(c, v, p.rows, p.k)) {
      const SweepRecord& r = *c.at(v, "f32", p.rows, V, p.k);
      points.push_back({static_cast<double>(V), elements_per_second(r) / 1e9, describe(r)});
    }
    if (points.empty()) continue;
    shown.push_back(v);
    speed.line(points, line_css(v));
    speed.points(points, look(v).marker, look(v).css);
    ends.push_back({points.back().x, points.back().y, v});
  }
  speed.names_of_ends(ends);
  std::vector<Plot::Step> bars;
  std::vector<Plot::Point> tops;
  double most = p.published;
  for (const std::int64_t V : drawn_sizes(c, p.fast, p.rows, p.k)) {
    const SweepRecord *fast = c.at(p.fast, "f32", p.rows, V, p.k),
                      *slow = c.at(p.slow, "f32", p.rows, V, p.k);
    if (!slow) continue;
    const double ratio = *slow->median_us / *fast->median_us, at = static_cast<double>(V);
    bars.push_back({at / 1.15, at * 1.15, ratio});
    tops.push_back(
        {at, ratio,
         fmt::format("V = {}: {} is {:.2f} times as fast as {}", grouped(V), p.fast, ratio, p.slow)});
    most = std::max(most, ratio);
  }
  if (bars.empty()) return "";  // a single algorithm cannot be compared
  Plot ratio(x, {0, 1.1 * most, false, "times"},
             fmt::format("Figure {}: {} over {}", p.number, p.fast, p.slow), 560, 150);
  ratio.leave_room_at_right(letters);  // the same V stand below each other
  ratio.bars(bars, std::string("bar ") + look(p.fast).css);
  ratio.horizontal(1, "mark"), ratio.horizontal(p.published, "one");
  ratio.points(tops, look(p.fast).marker, look(p.fast).css);
  const std::string under =
      "<p class=\"under\">" +
      escape(fmt::format("{} over {}; red: the paper's {}", p.fast, p.slow, p.published)) + "</p>";
  return figure(fmt::format("Figure {}: batch {}{}", p.number, grouped(p.rows),
                            p.k > 0 ? fmt::format(", top-{}", p.k) : ""),
                "", legend(shown) + speed.str() + under + ratio.str());
}

}  // namespace

std::string paper_figures(const Context& c) {
  std::string out, absent;
  for (const PaperForms& f : kPaperForms) {
    std::string figures;
    const std::vector<std::string> three = {f.naive, f.safe, f.online};
    const std::vector<std::string> fused = {f.unfused_safe, f.unfused_online, f.fused_safe, f.fused_online,
                                            "torch_softmax_topk"};
    figures += draw(c, {1, 4000, 0, three, f.safe, f.online, 1.3});
    figures += draw(c, {2, 10, 0, three, f.safe, f.online, 1.15});
    figures += draw(c, {3, 4000, kTopk, fused, f.unfused_safe, f.fused_online, 5});
    figures += draw(c, {4, 10, kTopk, fused, f.unfused_safe, f.fused_online, 2.5});
    if (!figures.empty())
      out += fmt::format("<h3>With {}</h3><div class=\"panels wide\">{}</div>", escape(f.title), figures);
    else
      absent += missing(
          fmt::format("{} and {} at batch 4000 or 10 in f32", f.safe, f.online),
          fmt::format("assay sweep --key '{}/f32@cuda' --key '{}/f32@cuda' --rows 4000", f.safe, f.online));
  }
  // One read at the speed of the memory, against the same unfused kernels.
  const std::vector<std::string> fused = {"safe_then_topk", "online_topk_block", "torch_softmax_topk",
                                          "onepass_topk", "onepass_topk_fast"};
  const std::string figures = draw(c, {3, 4000, kTopk, fused, "safe_then_topk", "onepass_topk", 5}) +
                              draw(c, {4, 10, kTopk, fused, "safe_then_topk", "onepass_topk", 2.5});
  if (!figures.empty())
    out += fmt::format("<h3>With onepass_topk</h3><div class=\"panels wide\">{}</div>", figures);
  else
    absent += missing(
        "safe_then_topk and onepass_topk at batch 4000 or 10 in f32",
        "assay sweep --key 'safe_then_topk/f32@cuda' --key 'onepass_topk/f32@cuda' --rows 4000 --k 5");
  if (out.empty()) return absent;
  return "<p>Milakov and Gimelshein, <i>Online normalizer calculation for softmax</i>, measured these on a "
         "V100 (fp32, CUDA 9.1). Here are the same algorithms, once with the thread counts and scalar loads "
         "of the paper's own benchmark, once as this project's reference kernels. Lines connect the paper's "
         "V = 63 &times; 2<sup>i</sup> (row lengths). Hold the pointer over a mark to see its numbers, or go "
         "to a picture with Tab and from mark to mark with the arrow keys.</p>" +
         out + absent;
}

}  // namespace assay::speed

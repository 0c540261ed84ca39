// SPDX-License-Identifier: Apache-2.0
// The paper by Milakov & Gimelshein (arXiv 1805.02867) with the data of a sweep: its claims and its figures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {

// The paper's claims in numbers, what this run shows for each, and the reason that the accesses give.

namespace {

/// "3.98 and 2.97 accesses per element reached memory (counters, V = 32,768): traffic alone gives 1.34x"
std::string reason(const Context& c, const PaperClaim& p) {
  if (p.points.empty()) return "";
  const std::int64_t V = p.points[p.points.size() / 2].V;
  const SweepRecord *slow = c.at(p.slow, "f32", p.rows, V, p.slow_k),
                    *fast = c.at(p.fast, "f32", p.rows, V, p.fast_k);
  auto a = moved(c, *slow), b = moved(c, *fast);
  if (!a || !b) return "";
  const bool counted = a->measured && b->measured;
  // A count must not be compared with a claim.
  if (!counted) a = claimed(*slow), b = claimed(*fast);
  if (!a || !b || !(b->accesses > 0)) return "";
  std::string out = fmt::format(
      "{} and {} accesses per element {}{}: traffic alone gives {}", plain_number(a->accesses),
      plain_number(b->accesses), counted ? "reached memory" : "are claimed",
      counted ? fmt::format(" (counters, V = {})", grouped(b->V)) : "", factor(a->accesses / b->accesses));
  const double floor = slow->empty_us.value_or(NAN) / fast->median_us.value_or(NAN);
  if (floor > 0.2)
    out += fmt::format("; at V = {} an empty launch takes {} of the faster one's time", grouped(V),
                       percent(floor));
  // If memory traffic was counted, use it: what caches serve is no traffic.
  auto busy = memory_share(c, *fast);
  if (!busy) busy = own_share(*fast);
  if (busy && *busy < 0.7 && floor <= 0.2)
    out +=
        fmt::format("; there the accesses of {} reach {} of the copy's speed, so traffic does not limit it",
                    escape(p.fast), percent(*busy));
  return out;
}

void measure(const Context& c, PaperClaim& p, std::int64_t from, std::int64_t to) {
  std::vector<double> ratios;
  for (const std::int64_t V : c.sizes(p.fast, "f32", p.rows, p.fast_k)) {
    if (V < from || V > to) continue;
    const SweepRecord *slow = c.at(p.slow, "f32", p.rows, V, p.slow_k),
                      *fast = c.at(p.fast, "f32", p.rows, V, p.fast_k);
    if (!slow) continue;
    p.points.push_back({V, *slow->median_us / *fast->median_us});
    ratios.push_back(p.points.back().ratio);
  }
  p.median = p.least = p.most = NAN;
  if (ratios.empty()) return;
  std::sort(ratios.begin(), ratios.end());
  const std::size_t n = ratios.size();
  p.median = n % 2 ? ratios[n / 2] : (ratios[n / 2 - 1] + ratios[n / 2]) / 2;
  p.least = ratios.front(), p.most = ratios.back();
  p.why = reason(c, p);
}

}  // namespace

const char* PaperClaim::verdict() const {
  if (points.empty()) return "not in this run";
  // A tolerance of a tenth: other caches and clocks cause as much, and the claim still holds.
  if (median < low * 0.9) return "less";
  return median > high * 1.1 ? "more" : "reproduced";
}

std::vector<PaperClaim> paper_claims(const Context& c) {
  constexpr std::int64_t kAny = INT64_MAX;
  if (c.backend == "host") return {};  // times of the host executor say nothing about a GPU
  std::vector<PaperClaim> out;
  for (const PaperForms& f : kPaperForms) {
    const auto add = [&](const char* what, const char* published, double low, double high, const char* slow,
                         const char* fast, std::int64_t rows, int k, std::int64_t from, std::int64_t to,
                         bool best_known = false) {
      PaperClaim p{what, published, low, high, &f, slow, fast, rows, k, k, {}, 0, 0, 0, "", best_known};
      measure(c, p, from, to);
      out.push_back(std::move(p));
    };
    add("batch 4000, V up to 1000: online over safe", "equal", 1, 1, f.safe, f.online, 4000, 0, 1, 1000);
    add("batch 4000, V from 4000: online over safe", "about 1.3x, limit 4/3", 1.3, 1.3, f.safe, f.online,
        4000, 0, 4000, kAny, true);
    add("batch 4000, V from 4000: naive over safe", "about 1.3x", 1.3, 1.3, f.safe, f.naive, 4000, 0, 4000,
        kAny);
    add("batch 10, V above 1000: online over safe", "about 1.15x", 1.15, 1.15, f.safe, f.online, 10, 0, 1001,
        kAny, true);
    add("batch 4000, V = 129,024: online over safe", "1.285x, its own code on an H200", 1.285, 1.285, f.safe,
        f.online, 4000, 0, 129024, 129024);
    add("batch 4000, top-5 at V = 25,000: fused online over unfused safe", "about 5x", 5, 5, f.unfused_safe,
        f.fused_online, 4000, 5, 25000, 25000, true);
    add("batch 4000, top-5, all V from 1000: fused online over unfused safe", "1.5x rising to 5x", 1.5, 5,
        f.unfused_safe, f.fused_online, 4000, 5, 1000, kAny);
    add("batch 4000, top-5 at V = 129,024: fused online over unfused safe", "3.48x, its own code on an H200",
        3.48, 3.48, f.unfused_safe, f.fused_online, 4000, 5, 129024, 129024);
    add("batch 10, top-5, V from 1000: fused online over unfused safe", "1.5x to 2.5x", 1.5, 2.5,
        f.unfused_safe, f.fused_online, 10, 5, 1000, kAny);
    add("batch 4000, top-10 at V = 25,000: fused online over unfused safe", "3.5x", 3.5, 3.5, f.unfused_safe,
        f.fused_online, 4000, 10, 25000, 25000);
    add("batch 4000, top-15 at V = 25,000: fused online over unfused safe", "2x", 2, 2, f.unfused_safe,
        f.fused_online, 4000, 15, 25000, 25000);
    add("batch 4000, top-30 at V = 25,000: fused online over unfused safe", "1.4x", 1.4, 1.4, f.unfused_safe,
        f.fused_online, 4000, 30, 25000, 25000);
  }
  return out;
}

std::string paper_claims_table(const Context& c) {
  const std::vector<PaperClaim> claims = paper_claims(c);
  std::string out;
  for (const PaperForms& f : kPaperForms) {
    std::string rows;
    bool any = false;
    for (const PaperClaim& p : claims) {
      if (p.forms != &f) continue;
      any |= !p.points.empty();
      const std::string word = p.verdict();
      rows += fmt::format(
          "<tr><th class=\"wide\">{}</th><td class=\"nw\">{}</td><td class=\"n\">{}{}</td><td "
          "class=\"{}\">{}</td><td class=\"wide\">{}</td></tr>",
          escape(p.what), escape(p.published), factor(p.median),
          p.points.size() > 1
              ? fmt::format("<small>{} to {}, {} V</small>", factor(p.least), factor(p.most), p.points.size())
              : "",
          word == "reproduced"        ? "good"
          : word == "not in this run" ? "mute"
                                      : "warn",
          word, p.why);
    }
    out += fmt::format("<h3>With {}</h3>", escape(f.title));
    out += any ? page::scroll(page::open_table({"the paper", "published", "#here, median", "verdict",
                                                "why, by the accesses"}) +
                              "<tbody>" + rows + "</tbody></table>")
               : missing("these forms at batch 4000 or 10 in f32",
                         fmt::format("assay sweep --key '{}/f32@cuda' --key '{}/f32@cuda' --rows 4000",
                                     f.safe, f.online));
  }
  return "<p>The time of the slower form divided by the time of the faster form. <i>Reproduced</i>: the "
         "median over the named V (row lengths) is within a tenth of what the paper's text or figure says, "
         "or of what its published code gave on an H200 (block per row, scalar loads).</p>" +
         out;
}

std::string k_table(const Context& c) {
  constexpr std::int64_t kRows = 4000;
  constexpr int kKs[] = {5, 10, 15, 30};
  std::string out;
  for (const PaperForms& f : kPaperForms) {
    std::vector<std::int64_t> sizes;
    for (const int k : kKs)
      for (const std::int64_t V : c.sizes(f.fused_online, "f32", kRows, k))
        if (V >= 1000) sizes.push_back(V);
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    if (sizes.empty()) continue;
    std::string rows;
    for (const std::int64_t V : sizes) {
      const auto cell = [&](const SweepRecord* r, const SweepRecord* base) {
        if (!r) return std::string("<td class=\"n\">") + kDash + "</td>";
        const double speed = elements_per_second(*r) * static_cast<double>(dtype_bytes("f32")) / 1e9;
        return fmt::format("<td class=\"n\" data-v=\"{}\" title=\"{}\">{}<small>{}{}</small></td>", speed,
                           escape(describe(*r)), grouped(std::llround(speed)), percent(share(*r)),
                           base && base != r ? "; " + factor(*base->median_us / *r->median_us) : "");
      };
      rows += fmt::format("<tr><th class=\"n\" data-v=\"{}\">{}</th>", V, grouped(V));
      const SweepRecord* unfused = c.at(f.unfused_safe, "f32", kRows, V, 5);
      rows += cell(unfused, nullptr) + cell(c.at(f.unfused_online, "f32", kRows, V, 5), unfused) +
              cell(c.at(f.fused_safe, "f32", kRows, V, 5), unfused);
      for (const int k : kKs)
        rows += cell(c.at(f.fused_online, "f32", kRows, V, k), c.at(f.unfused_safe, "f32", kRows, V, k));
      rows += cell(c.at("torch_softmax_topk", "f32", kRows, V, 5), unfused) + "</tr>";
    }
    out += fmt::format("<h3>With {}</h3>", escape(f.title)) +
           page::scroll(page::open_table({"#V", "#unfused safe, K = 5", "#unfused online, K = 5",
                                          "#fused safe, K = 5", "#fused online, K = 5", "#K = 10", "#K = 15",
                                          "#K = 30", "#torch softmax, topk, K = 5"}) +
                        "<tbody>" + rows + "</tbody></table>");
  }
  if (out.empty())
    return missing("fused softmax and top-k at batch 4000 in f32",
                   "assay sweep --key 'online_topk_block*/f32@cuda' --rows 4000 --k 5 --k 10 --k 15 --k 30");
  return "<p>f32, 4000 rows. Each cell has the GB/s of logits read. Below that are the share of a read-only "
         "pass over the same bytes, and how many times faster it is than the unfused pair of the same K. The "
         "paper at V = 25,000: 5&times;, 3.5&times;, 2&times; and 1.4&times; for K = 5, 10, 15, 30. A larger "
         "K reads no more bytes, but each thread keeps a longer list in registers.</p>" +
         out;
}

// Figures 1 to 4 of Milakov & Gimelshein (arXiv 1805.02867) with this machine's data: elements a second over
// V, and below as bars how many times faster the better algorithm is.

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

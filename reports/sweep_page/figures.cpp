// SPDX-License-Identifier: Apache-2.0
// The figures of the page of a sweep: the map of shares, accuracy against speed, shares over V.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "reports/data/html.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {

// Share of the copy (or of the read, for kernels that write almost nothing) over V and rows, one small map
// per key. One path per shade keeps the file small; the numbers are in an attribute for the pointer.

namespace {

constexpr double kLeft = 40, kTop = 4, kCellHeight = 15, kBottom = 18, kWidth = 380;

struct Shade {
  double below;
  const char *css, *text;
};
constexpr std::array<Shade, 7> kShades = {{{0.10, "h0", "under 10 %"},
                                           {0.25, "h1", "to 25 %"},
                                           {0.50, "h2", "to 50 %"},
                                           {0.75, "h3", "to 75 %"},
                                           {0.90, "h4", "to 90 %"},
                                           {1.10, "h5", "90 to 110 %"},
                                           {INFINITY, "h6", "above: caches"}}};

/// The k that is drawn for a variant: the paper's 5 if it was timed, otherwise the smallest.
Pick drawn_pick(const std::set<Pick>& all) { return all.contains(5) ? 5 : *all.begin(); }

/// The V at which anything was timed, by dtype, with or without top-k, and rows.
using Timed = std::map<std::tuple<std::string, bool, std::int64_t>, std::set<std::int64_t>>;

std::string draw(const Context& c, const Timed& timed, const std::string& variant, const std::string& dtype,
                 const Pick& pick, const std::vector<std::int64_t>& sizes,
                 const std::vector<std::int64_t>& rows) {
  const double width = (kWidth - kLeft - 4) / static_cast<double>(sizes.size());
  const double height = kTop + kCellHeight * static_cast<double>(rows.size()) + kBottom;
  std::array<std::string, kShades.size()> paths;
  std::string values, text;
  int cells = 0;
  for (std::size_t y = 0; y < rows.size(); ++y) {
    const double top = kTop + kCellHeight * static_cast<double>(y);
    text += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kLeft - 4, top + 11,
                        grouped(rows[y]));
    const auto column = timed.find({dtype, pick != Pick(), rows[y]});
    const auto swept = [&](std::size_t x) {
      return column != timed.end() && column->second.contains(sizes[x]);
    };
    // Neighbours of one shade are one rectangle.
    std::size_t open = kShades.size(), from = 0, to = 0;
    const auto close = [&] {
      if (open < kShades.size())
        paths[open] +=
            fmt::format("M{:.1f} {:.1f}h{:.1f}v{}H{:.1f}z", kLeft + width * static_cast<double>(from), top,
                        width * static_cast<double>(to - from) + 0.05, kCellHeight - 1,
                        kLeft + width * static_cast<double>(from));
      open = kShades.size();
    };
    for (std::size_t x = 0; x < sizes.size(); ++x) {
      values += x > 0 ? "," : y > 0 ? ";" : "";
      if (!swept(x)) {
        values += "=";
        continue;
      }
      const SweepRecord* r = c.at(variant, dtype, rows[y], sizes[x], pick);
      const double s = r ? share(*r) : NAN;
      if (!std::isfinite(s)) continue;
      ++cells;
      values += fmt::format("{:.3g} {:.4g}", s, *r->median_us);
      std::size_t end = x + 1;
      while (end < sizes.size() && !swept(end)) ++end;
      const auto shade =
          std::find_if(kShades.begin(), kShades.end() - 1, [&](const Shade& h) { return s < h.below; });
      const auto of = static_cast<std::size_t>(shade - kShades.begin());
      if (of != open || x != to) close(), open = of, from = x;
      to = end;
    }
    close();
  }
  if (cells == 0) return "";
  // A label at the first V from each power of 16 on.
  double next = 64;
  for (std::size_t x = 0; x < sizes.size(); ++x) {
    const auto V = static_cast<double>(sizes[x]);
    if (V < next) continue;
    while (next <= V) next *= 16;
    text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                        kLeft + width * (static_cast<double>(x) + 0.5), height - 5, grouped(sizes[x]));
  }
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"heat\" viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{} {}: share over V and rows\" data-heat=\"{}\">",
      kWidth, height, escape(variant), escape(dtype), values);
  for (std::size_t i = 0; i < kShades.size(); ++i)
    if (!paths[i].empty()) svg += fmt::format("<path class=\"{}\" d=\"{}\"/>", kShades[i].css, paths[i]);
  return figure(variant + c.behind_name(variant, pick), "", svg + text + "</svg>", chosen_by(dtype));
}

}  // namespace

std::string heat_maps(const Context& c) {
  std::set<std::int64_t> all_rows, all_sizes;
  Timed timed;
  std::map<std::string, std::set<Pick>> ks;
  for (const SweepRecord* r : c.timed) {
    if (!std::isfinite(share(*r))) continue;
    all_rows.insert(r->rows), all_sizes.insert(r->V);
    timed[{r->dtype, r->pick() != Pick(), r->rows}].insert(r->V);
    ks[variant_of(r->key)].insert(r->pick());
  }
  // A number of rows with only a few V, such as the tutorial's 64, would be an empty line in every map.
  std::map<std::int64_t, std::set<std::int64_t>> at;
  for (const SweepRecord* r : c.timed) at[r->rows].insert(r->V);
  std::set<std::int64_t> kept = all_rows;
  std::erase_if(kept, [&](std::int64_t r) { return 4 * at[r].size() < all_sizes.size(); });
  if (!kept.empty()) all_rows = kept;
  if (all_sizes.empty()) return missing("a ceiling to take a share of", "assay sweep");
  const std::vector<std::int64_t> rows(all_rows.rbegin(), all_rows.rend()),
      sizes(all_sizes.begin(), all_sizes.end());
  std::string figures, list;
  for (const std::string& d : c.dtypes)
    for (const std::string& v : c.variants)
      if (const auto k = ks.find(v); k != ks.end())
        figures += draw(c, timed, v, d, drawn_pick(k->second), sizes, rows);
  for (const std::int64_t V : sizes) list += fmt::format("{}{}", list.empty() ? "" : ",", V);
  std::string row_list;
  for (const std::int64_t r : rows) row_list += fmt::format("{}{}", row_list.empty() ? "" : ",", r);
  std::string shades = "<ul class=\"legend\">";
  for (const Shade& h : kShades)
    shades += fmt::format("<li><span class=\"swatch {}\"></span>{}</li>", h.css, h.text);
  return "<p>Columns are the V (row lengths) of the sweep in order, not to scale. Lines are numbers of rows. "
         "Kernels that write almost nothing (top-k, log-sum-exp) are compared with the read-only pass. A "
         "cell extends to the next V of its line. White was not timed: out of the kernel's range, of memory, "
         "or of the budget. Hold the pointer over a cell to see its numbers.</p>" +
         shades + "</ul>" +
         fmt::format("<div id=\"heats\" data-sizes=\"{}\" data-rows=\"{}\">", list, row_list) +
         choice(panels(figures)) + "</div>";
}

// Accuracy against speed: what accuracy a kernel's speed costs, if any.

namespace {

constexpr std::int64_t kPlaneRows = 4000;

struct Axis2 {
  std::optional<double> SweepRecord::*field;
  const char *title, *label;
  bool log;
};

/// The longest V at which almost the largest number of kernels of the dtype have both values.
std::int64_t best_size(const Context& c, const std::string& dtype,
                       std::optional<double> SweepRecord::*field) {
  std::map<std::int64_t, int> seen;
  int most = 0;
  for (const SweepRecord* r : c.timed)
    if (r->dtype == dtype && r->rows == kPlaneRows && r->V >= 1024 && r->*field && std::isfinite(share(*r)))
      most = std::max(most, ++seen[r->V]);
  std::int64_t best = 0;
  for (const auto& [V, n] : seen)
    if (10 * n >= 8 * most) best = V;
  return best;
}

std::string draw(const Context& c, const std::string& dtype, const Axis2& axis,
                 std::vector<std::string>& shown) {
  const std::int64_t V = best_size(c, dtype, axis.field);
  std::vector<const SweepRecord*> records;
  double lo = INFINITY, hi = 0, right = 1;
  for (const SweepRecord* r : c.timed) {
    if (r->dtype != dtype || r->rows != kPlaneRows || r->V != V || !of_usual_pick(*r) || !(r->*axis.field) ||
        !std::isfinite(share(*r)))
      continue;
    records.push_back(r);
    if (const double y = *(r->*axis.field); std::isfinite(y) && y > 0)
      lo = std::min(lo, y), hi = std::max(hi, y);
    right = std::max(right, share(*r));
  }
  if (records.empty()) return "";
  const double top =
      axis.log ? std::pow(10, std::ceil(std::log10(std::max(hi, 1.0)) + 0.05)) : std::max(1.1, hi * 1.1);
  Plot plot({0, 1.05 * std::min(right, 1.4), false, "share of the copy (read for top-k)"},
            {axis.log ? lo / 2 : 0, top, axis.log, axis.label},
            fmt::format("{} against speed, {}", axis.title, dtype), 560, 340);
  plot.vertical(1, "mark");
  if (!axis.log) plot.horizontal(1, "one");
  std::vector<Plot::Label> labels;
  for (const SweepRecord* r : records) {
    const std::string v = variant_of(r->key);
    const double y = *(r->*axis.field);
    const std::vector<Plot::Point> one = {
        {share(*r), y, fmt::format("{}; {} {}", describe(*r), plain_number(y), axis.label)}};
    plot.points(one, look(v).marker, look(v).css);
    labels.push_back({share(*r), y, v});
    if (std::find(shown.begin(), shown.end(), v) == shown.end()) shown.push_back(v);
  }
  plot.labels(labels);
  return figure(fmt::format("{}, {}, V = {}, 4000 rows", axis.title, dtype, grouped(V)), "", plot.str(),
                chosen_by(dtype));
}

}  // namespace

std::string accuracy_plane(const Context& c) {
  const Axis2 axes[] = {{&SweepRecord::max_ulp, "Largest error", "ulp", true},
                        {&SweepRecord::max_utilisation, "Error over bound", "error/bound", false}};
  std::string figures;
  std::vector<std::string> shown;
  for (const std::string& d : c.dtypes)
    for (const Axis2& a : axes) figures += draw(c, d, a, shown);
  if (figures.empty())
    return missing("kernels that were both timed at 4000 rows and judged", "assay sweep --rows 4000");
  return "<p>Further right is faster, further down is more accurate. The errors are those of the timed "
         "outputs, compared with the exact result. An error/bound above 1 (red) would be wrong. A 16-bit "
         "output hides all errors but its own rounding (half an ulp). f32 shows what the order of the sum "
         "and the exp cost.</p>" +
         legend(shown, false) + choice("<div class=\"panels wide\">" + figures + "</div>");
}

// Share of the copy (or the read) over V: the kernels of one read, the paper's three, some that keep the row
// on chip, softmax with top-k, and every peer that ran.

namespace {

constexpr std::int64_t kRowOrder[] = {4000, 10, 1, 32, 32768};

/// The best share of all kernels and peers of one op that were not found wrong, at each V at which at least
/// half of this project's kernels of that op were timed. At the other V only a few ran, and the best of these
/// would say nothing of the others.
std::vector<Plot::Point> best_of(const Context& c, const std::string& op, const std::string& dtype,
                                 std::int64_t rows, int k) {
  std::map<std::int64_t, double> best;
  std::map<std::int64_t, int> own;
  int most = 0;
  for (const std::string& v : c.variants) {
    if (const auto found = c.ops.find(v); found == c.ops.end() || found->second != op) continue;
    for (const std::int64_t V : c.sizes(v, dtype, rows, k)) {
      const SweepRecord& r = *c.at(v, dtype, rows, V, k);
      if (r.role != "peer") most = std::max(most, ++own[V]);
      if (const double s = share(r); std::isfinite(s) && r.verified != Status::fail)
        best[V] = std::max(best.try_emplace(V, s).first->second, s);
    }
  }
  std::vector<Plot::Point> out;
  for (const auto& [V, s] : best)
    if (2 * own[V] >= most) out.push_back({static_cast<double>(V), s, ""});
  return out;
}

/// One panel per kernel, all with the same axes: its own line, and behind it the best of all kernels of its
/// op.
std::string draw(const Context& c, const std::vector<std::string>& variants, const std::string& dtype,
                 std::int64_t rows, int k, const char* ceiling) {
  std::map<std::string, std::vector<Plot::Point>> best;  // by op
  std::set<std::int64_t> lengths;
  double top = 0;
  for (const std::string& v : variants)
    for (const std::int64_t V : c.sizes(v, dtype, rows, k)) {
      lengths.insert(V);
      if (const double s = share(*c.at(v, dtype, rows, V, k)); std::isfinite(s)) top = std::max(top, s);
      const std::string& op = c.ops.find(v)->second;
      if (!best.contains(op)) best[op] = best_of(c, op, dtype, rows, k);
    }
  if (lengths.size() < 2) return "";
  const std::vector<std::int64_t> sizes(lengths.begin(), lengths.end());
  for (const auto& [op, line] : best)
    for (const Plot::Point& p : line) top = std::max(top, p.y);
  // The axis goes up to a whole copy, unless all lines are far below it.
  top = top > 0.3 ? std::clamp(top, 1.0, 1.4) : top;
  std::string out;
  for (const std::string& v : variants) {
    std::vector<Plot::Point> points;
    for (const std::int64_t V : c.sizes(v, dtype, rows, k)) {
      const SweepRecord& r = *c.at(v, dtype, rows, V, k);
      points.push_back(
          {static_cast<double>(V), share(r), fmt::format("V = {}: {}", grouped(V), time_and_speed(r))});
    }
    if (points.empty()) continue;
    Plot plot(size_axis(sizes), {0, 1.05 * top, false, fmt::format("share of the {}", ceiling)},
              fmt::format("{}: share of the {} over V, {}, {} rows", v, ceiling, dtype, rows));
    plot.horizontal(1, "mark");
    plot.line(best.at(c.ops.find(v)->second), "ln best");
    plot.line(points, line_css(v));
    plot.points(points, look(v).marker, look(v).css);
    out += figure(v + c.behind_name(v, k), fmt::format("{}, {} rows", dtype, grouped(rows)), plot.str(),
                  chosen_by(dtype, rows));
  }
  return out;
}

}  // namespace

std::string speed_lines(const Context& c) {
  std::vector<std::string> softmax = {"onepass",      "onepass_fast", "naive_block",         "safe_block",
                                      "online_block", "online_warp",  "register_float4_warp"};
  std::vector<std::string> topk = {"onepass_topk",   "onepass_topk_fast", "onepass_topk_softmax_fast",
                                   "safe_then_topk", "safe_topk_block",   "online_topk_block"};
  std::set<std::string> peers_softmax, peers_topk;
  for (const SweepRecord* r : c.timed)
    if (r->role == "peer") (r->k > 0 ? peers_topk : peers_softmax).insert(variant_of(r->key));
  softmax.insert(softmax.end(), peers_softmax.begin(), peers_softmax.end());
  topk.insert(topk.end(), peers_topk.begin(), peers_topk.end());
  std::string figures;
  for (const std::string& d : c.dtypes)
    for (const std::int64_t rows : kRowOrder)
      figures += draw(c, softmax, d, rows, 0, "copy") + draw(c, topk, d, rows, 5, "read");
  if (figures.empty()) return missing("two V of one number of rows", "assay sweep --rows 4000");
  return "<p>1 is the speed of a device-to-device copy in the same run, of the bytes that any kernel must "
         "move. For softmax with top-k it is the speed of a pass that only reads. Points above 1 come from "
         "caches, or from a copy that is too short to reach its full speed. With few rows the launch limits "
         "the speed, not the memory. The pale line in each panel is the best of all kernels and peers that "
         "compute "
         "the same (also of those without a panel) and were not found wrong, at each V at which at least "
         "half "
         "of this project's were timed.</p>" +
         choice(panels(figures));
}

}  // namespace assay::speed

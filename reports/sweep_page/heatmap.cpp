// SPDX-License-Identifier: Apache-2.0
// Share of the copy (or of the read, for kernels that write almost nothing) over V and rows, one small map
// per key. One path per shade keeps the file small; the numbers are in an attribute for the pointer.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "reports/data/html.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {
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
int drawn_k(const std::set<int>& ks) { return ks.contains(5) ? 5 : *ks.begin(); }

/// The V at which anything was timed, by dtype, with or without top-k, and rows.
using Timed = std::map<std::tuple<std::string, bool, std::int64_t>, std::set<std::int64_t>>;

std::string draw(const Context& c, const Timed& timed, const std::string& variant, const std::string& dtype,
                 int k, const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& rows) {
  const double width = (kWidth - kLeft - 4) / static_cast<double>(sizes.size());
  const double height = kTop + kCellHeight * static_cast<double>(rows.size()) + kBottom;
  std::array<std::string, kShades.size()> paths;
  std::string values, text;
  int cells = 0;
  for (std::size_t y = 0; y < rows.size(); ++y) {
    const double top = kTop + kCellHeight * static_cast<double>(y);
    text += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kLeft - 4, top + 11,
                        grouped(rows[y]));
    const auto column = timed.find({dtype, k > 0, rows[y]});
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
      const SweepRecord* r = c.at(variant, dtype, rows[y], sizes[x], k);
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
  return figure(variant + c.behind_name(variant, k), "", svg + text + "</svg>", chosen_by(dtype));
}

}  // namespace

std::string heat_maps(const Context& c) {
  std::set<std::int64_t> all_rows, all_sizes;
  Timed timed;
  std::map<std::string, std::set<int>> ks;
  for (const SweepRecord* r : c.timed) {
    if (!std::isfinite(share(*r))) continue;
    all_rows.insert(r->rows), all_sizes.insert(r->V);
    timed[{r->dtype, r->k > 0, r->rows}].insert(r->V);
    ks[variant_of(r->key)].insert(r->k);
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
        figures += draw(c, timed, v, d, drawn_k(k->second), sizes, rows);
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

}  // namespace assay::speed

// SPDX-License-Identifier: Apache-2.0
// Accuracy against speed: what accuracy a kernel's speed costs, if any.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/data/html.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {
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
    if (r->dtype != dtype || r->rows != kPlaneRows || r->V != V || !of_usual_k(*r) || !(r->*axis.field) ||
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

}  // namespace assay::speed

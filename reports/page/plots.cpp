// SPDX-License-Identifier: Apache-2.0
// Small plots, one panel per variant, with one colour and marker per dtype. All panels of a row have the same
// axes, so that the eye can compare them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"

namespace assay::page {
namespace {

constexpr std::size_t kBins = 48;  // a panel has no room for more points
constexpr double kFarthest = 120;  // nats; f32 results are 0 beyond 104, f16 and bf16 earlier

std::string figure(const std::string& caption, const std::string& note, const std::string& svg) {
  return "<figure><figcaption>" + escape(caption) + (note.empty() ? "" : "<small>" + note + "</small>") +
         "</figcaption>" + svg + "</figure>";
}

std::string panels(const std::string& figures) { return "<div class=\"panels\">" + figures + "</div>"; }

// The range of the values on a log axis, rounded to whole decades.
struct LogRange {
  double lo = INFINITY, hi = 0;
  void take(double v) {
    if (!std::isfinite(v) || !(v > 0)) return;
    lo = std::min(lo, v), hi = std::max(hi, v);
  }
  Axis axis(double least, double most, const char* label) const {
    if (hi == 0) return {0.1, 10, true, label};
    const auto decade = [](double v, double (*round)(double)) { return std::pow(10, round(std::log10(v))); };
    const double a = decade(
        std::max(lo, least), +[](double v) { return std::floor(v + 1e-9); });
    const double b = decade(
        std::min(hi, most), +[](double v) { return std::ceil(v - 1e-9); });
    return {a, b > a ? b : a * 10, true, label};
  }
};

bool is_wide(const std::string& family) {
  return family.starts_with("uniform_80") || family.starts_with("normal_10");
}

/// A kernel's page shows only its own profiles.
bool is_here(const Context& c, const Profile& p) {
  return std::find(c.variants.begin(), c.variants.end(), p.variant) != c.variants.end();
}

// The two profiled families that show most: the one with the widest range, and a real one.
std::vector<std::string> profile_families(const Context& c) {
  std::string wide, real;
  double reach = -1;
  for (const Profile& p : c.data.profiles) {
    if (!is_here(c, p)) continue;
    if (is_real_family(p.family)) {
      if (real.empty() || (p.family.starts_with("gpt_") && !real.starts_with("gpt_"))) real = p.family;
      continue;
    }
    double far = 0;
    for (const Profile::Bin& b : p.bins)
      if (b.count > 0 && std::isfinite(b.distance_lo)) far = std::max(far, b.distance_lo);
    far = std::min(far, kFarthest) + (is_wide(p.family) ? 1e3 : 0);
    if (far > reach) reach = far, wide = p.family;
  }
  std::vector<std::string> out;
  if (!wide.empty()) out.push_back(wide);
  if (!real.empty()) out.push_back(real);
  return out;
}

// The profile at the largest V, or null.
const Profile* profile_of(const Context& c, const std::string& variant, const std::string& dtype,
                          const std::string& backend, const std::string& family) {
  const Profile* best = nullptr;
  for (const Profile& p : c.data.profiles)
    if (p.variant == variant && p.dtype == dtype && p.backend == backend && p.family == family &&
        (!best || p.V > best->V))
      best = &p;
  return best;
}

std::vector<Profile::Bin> coarse(const std::vector<Profile::Bin>& bins) {
  const std::size_t each = (bins.size() + kBins - 1) / kBins;
  std::vector<Profile::Bin> out;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (each <= 1 || i % each == 0) {
      out.push_back(bins[i]);
      continue;
    }
    Profile::Bin &a = out.back(), b = bins[i];
    const double n = static_cast<double>(a.count + b.count);
    if (n > 0)
      a.mean_ulp =
          (a.mean_ulp * static_cast<double>(a.count) + b.mean_ulp * static_cast<double>(b.count)) / n;
    if (b.count > 0) a.take(b.max_ulp, b.bound_ulp);
    a.count += b.count, a.distance_hi = b.distance_hi;
  }
  return out;
}

// Leaves out masked logits: they are infinitely far away, and their outputs are exactly 0.
bool drawable(const Profile::Bin& b) { return b.count > 0 && b.distance_lo <= kFarthest; }

void draw_profile(Plot& plot, const Profile& p) {
  const std::string css = dtype_class(p.dtype);
  std::vector<Plot::Point> points;
  std::vector<Plot::Step> bound;
  for (const Profile::Bin& b : coarse(p.bins)) {
    if (!drawable(b)) continue;
    const double hi = std::isfinite(b.distance_hi) ? b.distance_hi : b.distance_lo;
    std::string title = fmt::format("{}, |x - m| from {} to {}: largest {} ULP, mean {}", p.dtype,
                                    plain_number(b.distance_lo), plain_number(b.distance_hi),
                                    plain_number(b.max_ulp), plain_number(b.mean_ulp));
    if (b.bound_ulp > 0) title += fmt::format(", bound {}", plain_number(b.bound_ulp));
    points.push_back({(b.distance_lo + hi) / 2, b.max_ulp, std::move(title)});
    if (b.bound_ulp > 0) bound.push_back({b.distance_lo, hi, b.bound_ulp});
  }
  plot.steps(bound, "lim " + css);
  plot.line(points, "ln " + css);
  plot.points(points, dtype_marker(p.dtype), css);
}

std::string distance_panels(const Context& c, const std::string& backend) {
  std::string out;
  for (const std::string& family : profile_families(c)) {
    LogRange ulp, bound;
    double far = 1;
    for (const Profile& p : c.data.profiles) {
      if (p.family != family || !is_here(c, p)) continue;
      for (const Profile::Bin& b : p.bins) {
        if (!drawable(b)) continue;
        ulp.take(b.max_ulp), bound.take(b.bound_ulp);
        far = std::max(far, std::isfinite(b.distance_hi) ? b.distance_hi : b.distance_lo);
      }
    }
    // A broken kernel may be off by 1e30 ULP. The axis ends a decade above the bounds, and triangles mark
    // what lies beyond.
    const double most = bound.hi > 0 ? bound.hi * 10 : 1e6;
    ulp.take(bound.lo), ulp.take(bound.hi);
    const Axis x{0, std::min(far, kFarthest), false, "|x - m|, nats"}, y = ulp.axis(1e-2, most, "ULP");
    std::string figures;
    std::int64_t V = 0;
    for (const std::string& variant : c.variants) {
      Plot plot(x, y, fmt::format("{}: largest ULP error against |x - m| on {}", variant, family));
      bool any = false;
      for (const std::string& d : c.dtypes)
        if (const Profile* p = profile_of(c, variant, d, backend, family))
          draw_profile(plot, *p), V = p->V, any = true;
      if (any) figures += figure(variant, "", plot.str());
    }
    if (!figures.empty())
      out += fmt::format("<p><b>{}</b>, V = {}</p>", escape(family), grouped(V)) + panels(figures);
  }
  return out;
}

std::string size_panels(const Context& c, const std::string& backend) {
  struct Metric {
    Extreme KeyTally::AtSize::*field;
    const char *title, *label;
    bool limit;
  };
  const Metric metrics[] = {
      {&KeyTally::AtSize::bound, "Largest error/bound (red line: the limit)", "error/bound", true},
      {&KeyTally::AtSize::ulp, "Largest ULP error", "ULP", false}};
  const bool one = c.variants.size() == 1;  // a kernel's own page: its panels stand beside each other
  std::string out;
  for (const Metric& m : metrics) {
    LogRange range, sizes;  // of all backends: they share axes
    for (const KeyTally* k : c.keys)
      for (const auto& [V, at] : k->sizes)
        if ((at.*m.field).any()) range.take((at.*m.field).value), sizes.take(static_cast<double>(V));
    if (m.limit) range.take(1);
    const Axis x{1, sizes.hi * 1.1, true, "V"};
    Axis y = range.axis(m.limit ? 1e-3 : 1e-2, m.limit ? 1e2 : 1e6, m.label);
    if (m.limit) y.hi *= 1.5;  // keeps the limit's line below the frame
    std::string figures;
    for (const std::string& variant : c.variants) {
      Plot plot(x, y, fmt::format("{}: {} against V", variant, m.label));
      if (m.limit) plot.horizontal(1, "one");
      bool any = false;
      for (const std::string& d : c.dtypes) {
        std::vector<Plot::Point> points;
        if (const KeyTally* k = c.find_key(variant, d, backend))
          for (const auto& [V, at] : k->sizes)
            if (const Extreme& e = at.*m.field; e.any())
              points.push_back(
                  {static_cast<double>(V), e.value,
                   fmt::format("{}, V = {}: {} on {}", d, grouped(V), plain_number(e.value), e.family)});
        plot.line(points, "ln " + dtype_class(d));
        plot.points(points, dtype_marker(d), dtype_class(d));
        any = any || !points.empty();
      }
      if (any) figures += figure(one ? m.title : variant, "", plot.str());
    }
    if (figures.empty()) continue;
    out += one ? figures : fmt::format("<p><b>{}</b></p>", m.title) + panels(figures);
  }
  return one && !out.empty() ? panels(out) : out;
}

double total(const Profile& p) {
  double n = static_cast<double>(p.below + p.above);
  for (std::int64_t v : p.signed_counts) n += static_cast<double>(v);
  return n;
}

std::vector<Plot::Step> density(const Profile& p, double& top) {
  std::vector<Plot::Step> out;
  const double bins = static_cast<double>(p.signed_counts.size()), width = 2 * p.signed_limit / bins,
               n = total(p);
  for (std::size_t i = 0; i < p.signed_counts.size(); ++i) {
    const double lo = -p.signed_limit + width * static_cast<double>(i),
                 y = static_cast<double>(p.signed_counts[i]) / (n * width);
    out.push_back({lo, -p.signed_limit + width * static_cast<double>(i + 1), y});
    top = std::max(top, y);
  }
  return out;
}

bool has_histogram(const Profile* p) {
  return p && p->signed_limit > 0 && std::isfinite(p->signed_limit) && !p->signed_counts.empty() &&
         total(*p) > 0;
}

std::string histogram_panels(const Context& c, const std::string& backend) {
  std::string family;
  for (const std::string& f : profile_families(c))
    if (family.empty() || is_real_family(f)) family = f;
  std::string figures, head;
  for (const std::string& variant : c.variants)
    for (const bool wide :
         {false, true}) {  // f32 errors spread further than 16-bit errors, so they have their own axis
      double limit = 0, top = 1;
      for (const std::string& d : c.dtypes)
        if (const Profile* p = profile_of(c, variant, d, backend, family);
            (d == "f32") == wide && has_histogram(p))
          limit = std::max(limit, p->signed_limit), density(*p, top);
      if (limit == 0) continue;
      // A spike of exact results would flatten all other bars, so the 16-bit axis is cut. f32 has no spike.
      if (wide) {
        top = 0;
        for (const std::string& d : c.dtypes)
          if (const Profile* p = profile_of(c, variant, d, backend, family); d == "f32" && has_histogram(p))
            density(*p, top);
        top *= 1.1;
      } else {
        top = std::min(1.1 * top, 1.5);
      }
      Plot plot({-limit, limit, false, "got - exact, ULP"}, {0, top, false, "density per ULP"},
                fmt::format("{}: signed error on {}", variant, family));
      plot.vertical(-0.5, "mark"), plot.vertical(0.5, "mark"), plot.vertical(0, "mark");
      std::string note;
      for (const std::string& d : c.dtypes) {
        const Profile* p = profile_of(c, variant, d, backend, family);
        if ((d == "f32") != wide || !has_histogram(p)) continue;
        double unused = 0;
        const auto bars = density(*p, unused);
        plot.bars(bars, "area " + dtype_class(d));
        plot.steps(bars, "ln " + dtype_class(d));
        double mean = 0;
        for (const Plot::Step& b : bars) mean += (b.lo + b.hi) / 2 * b.y * (b.hi - b.lo);
        const double outside = static_cast<double>(p->below + p->above) / total(*p);
        note += fmt::format("{}{}: mean {}", note.empty() ? "" : "; ", escape(d),
                            std::fabs(mean) < 5e-4 ? "0" : fmt::format("{:+.2g}", mean));
        if (outside > 0) note += fmt::format(", {} outside", escape(plain_percent(outside)));
        if (head.empty()) head = fmt::format("<p><b>{}</b>, V = {}</p>", escape(family), grouped(p->V));
      }
      figures += figure(variant + (wide ? ", f32" : ", 16-bit"), note, plot.str());
    }
  return figures.empty() ? "" : head + panels(figures);
}

std::string line_note(const char* css, const char* text) {
  return "<li>" + legend_sample(Marker::circle, "", css) + text + "</li>";
}

}  // namespace

std::string error_by_distance(const Context& c) {
  return "<p>The largest error in each interval of |x &minus; m|. The dashes above it are the bound of the "
         "element that has this error. A curve that rises is no fault, as long as it stays below its dashes. "
         "The gap between them is the unused part of the bound. In f16 and bf16 outputs, their own rounding "
         "hides the rise.</p>" +
         dtype_legend(c, line_note("lim f32", "the bound, in the dtype's colour")) +
         per_backend(c, distance_panels);
}

std::string error_by_size(const Context& c) {
  return "<p>Each point is the largest value over all families at that V (row length). A point at the lower "
         "edge of the axis is 0, or too small for the axis; no line is drawn to a 0. A triangle at the upper "
         "edge is too large for the axis.</p>" +
         dtype_legend(c, "") + per_backend(c, size_panels);
}

std::string signed_errors(const Context& c) {
  return "<p>Correctly rounded outputs lie between &minus;0.5 and 0.5. They fill this band evenly, at "
         "density 1, where "
         "few outputs round to 0. In f16 most probabilities of a long row do: "
         "there the band is uneven, and its mean below 0, for the best kernel too. Elsewhere a mean that is "
         "not 0 is a bias: along long rows, biased errors add up instead of cancelling. A curve that is cut "
         "by the "
         "upper edge goes on above it.</p>" +
         dtype_legend(c, "") + per_backend(c, histogram_panels);
}

}  // namespace assay::page

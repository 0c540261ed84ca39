// SPDX-License-Identifier: Apache-2.0
// Axes, ticks and marks. Only scale() turns numbers into coordinates, so no coordinate can be NaN.
#include "reports/page/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "reports/data/html.hpp"

namespace assay {
namespace {

constexpr double kRight = 8, kTop = 8, kBottom = 34;
constexpr double kChar = 5.3, kHigh = 10;  // of a letter: a little more than the font needs

/// A narrow screen shows a wide plot smaller and its text larger (sweep.css), so the text gets more room.
double left_margin(double width) { return width > 400 ? 46 : 38; }

// Position in [0, 1], clamped. The caller has excluded NaN.
double scale(const Axis& a, double v) {
  if (a.log) {
    if (!(v > a.lo)) return 0;  // a log axis has no 0: draw at its lower edge
    if (!(v < a.hi)) return 1;
    return std::log(v / a.lo) / std::log(a.hi / a.lo);
  }
  if (!(v > a.lo)) return 0;
  if (!(v < a.hi)) return 1;
  return (v - a.lo) / (a.hi - a.lo);
}

struct Tick {
  double at;
  std::string text;
};

std::vector<Tick> log_ticks(const Axis& a) {
  std::vector<Tick> out;
  const int first = static_cast<int>(std::ceil(std::log10(a.lo) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log10(a.hi) + 1e-9));
  // An axis shorter than two decades has only one or two powers of 10, so it also gets ticks at 2 and 5.
  if (a.hi / a.lo < 100)
    for (int e = first - 1; e <= last; ++e)
      for (const int m : {2, 5}) {
        const double at = m * std::pow(10.0, e);
        if (at >= a.lo && at <= a.hi) out.push_back({at, fmt::format("{:g}", at)});
      }
  const int every = std::max(1, (last - first + 5) / 6);
  for (int e = first; e <= last; e += every) {
    std::string text = e >= -2 && e <= 2 ? fmt::format("{:g}", std::pow(10.0, e))
                                         : fmt::format("10<tspan dy=\"-4\">{}</tspan>", e);
    out.push_back({std::pow(10.0, e), std::move(text)});
  }
  return out;
}

std::vector<Tick> linear_ticks(const Axis& a) {
  std::vector<Tick> out;
  const double rough = (a.hi - a.lo) / 5, decade = std::pow(10.0, std::floor(std::log10(rough)));
  double step = decade;
  for (double f : {1.0, 2.0, 5.0, 10.0})
    if (f * decade <= rough * 1.3) step = f * decade;
  if (a.whole) step = std::max(1.0, std::round(step));
  const double first = std::ceil(a.lo / step - 1e-9);
  for (int i = 0; i < 20 && (first + i) * step <= a.hi + step * 1e-9; ++i) {
    const double at = (first + i) * step;
    out.push_back({at, fmt::format("{:.6g}", at == 0 ? 0.0 : at)});
  }
  return out;
}

std::vector<Tick> ticks(const Axis& a) { return a.log ? log_ticks(a) : linear_ticks(a); }

// Replaces an axis that cannot be drawn (empty, infinite, or log from 0) by one that can.
Axis sane(Axis a) {
  if (a.log) {
    if (!std::isfinite(a.lo) || a.lo <= 0) a.lo = 1e-2;
    if (!std::isfinite(a.hi) || a.hi <= a.lo) a.hi = a.lo * 10;
  } else {
    if (!std::isfinite(a.lo)) a.lo = 0;
    if (!std::isfinite(a.hi) || a.hi <= a.lo) a.hi = a.lo + 1;
  }
  return a;
}

std::string mark(Marker marker, double x, double y) {
  switch (marker) {
    case Marker::circle:
      return fmt::format("M{:.1f} {:.1f}a2.6 2.6 0 1 0 .01 0z", x, y - 2.6);
    case Marker::square:
      return fmt::format("M{:.1f} {:.1f}m-1.9-1.9h3.8v3.8h-3.8z", x, y);
    case Marker::diamond:
      return fmt::format("M{:.1f} {:.1f}m0-2.7l2.7 2.7l-2.7 2.7l-2.7-2.7z", x, y);
    case Marker::bar:
      return fmt::format("M{:.1f} {:.1f}m-3.4-1.2h6.8v2.4h-6.8z", x, y);
    case Marker::post:
      return fmt::format("M{:.1f} {:.1f}m-1.2-3.4h2.4v6.8h-2.4z", x, y);
    case Marker::triangle:
      return fmt::format("M{:.1f} {:.1f}m0-3l3 5.4h-6z", x, y);
    case Marker::down:
      return fmt::format("M{:.1f} {:.1f}m0 3l3-5.4h-6z", x, y);
    case Marker::saltire:
      return fmt::format(
          "M{:.1f} {:.1f}m0-1l1.7-1.7l1 1l-1.7 1.7l1.7 1.7l-1 1l-1.7-1.7l-1.7 1.7l-1-1l1.7-1.7"
          "l-1.7-1.7l1-1z",
          x, y);
    case Marker::ring:  // the inner circle runs the other way round, which leaves a hole
      return fmt::format("M{:.1f} {:.1f}a3.1 3.1 0 1 0 .01 0zm0 1.5a1.6 1.6 0 1 1-.01 0z", x, y - 3.1);
    case Marker::cross:
      break;
  }
  return fmt::format("M{:.1f} {:.1f}m-.7-2.7h1.4v2h2v1.4h-2v2h-1.4v-2h-2v-1.4h2z", x, y);
}

}  // namespace

Plot::Plot(Axis x, Axis y, std::string_view name, double width, double height)
    : x_(sane(std::move(x))),
      y_(sane(std::move(y))),
      width_(width),
      height_(height),
      left_(left_margin(width)),
      right_(kRight),
      name_(name) {}

double Plot::px(double x) const { return left_ + scale(x_, x) * (width_ - left_ - right_); }
double Plot::py(double y) const { return height_ - kBottom - scale(y_, y) * (height_ - kTop - kBottom); }

void Plot::line(std::span<const Point> points, std::string_view css) {
  std::string d;
  char next = 'M';
  for (const Point& p : points) {
    // A log axis has no 0. The point of a 0 is drawn at the edge, and the line breaks there.
    if (std::isnan(p.x) || std::isnan(p.y) || (y_.log && p.y <= 0)) {
      next = 'M';
      continue;
    }
    d += fmt::format("{}{:.1f} {:.1f}", next, px(p.x), py(p.y));
    next = 'L';
  }
  if (!d.empty()) body_ += fmt::format("<path class=\"{}\" d=\"{}\"/>", css, d);
}

void Plot::points(std::span<const Point> points, Marker marker, std::string_view css) {
  std::string marks;
  for (const Point& p : points) {
    if (std::isnan(p.x) || std::isnan(p.y)) continue;
    // A triangle at the edge means that the value lies above the axis.
    const std::string d =
        p.y > y_.hi ? fmt::format("M{:.1f} {:.1f}l-4 7h8z", px(p.x), kTop) : mark(marker, px(p.x), py(p.y));
    marks += fmt::format("<path class=\"pt\" d=\"{}\"", d);
    marks += p.title.empty() ? "/>" : "><title>" + escape(p.title) + "</title></path>";
  }
  if (!marks.empty()) body_ += fmt::format("<g class=\"{}\">{}</g>", css, marks);
}

void Plot::steps(std::span<const Step> steps, std::string_view css) {
  std::string d;
  double end = std::nan("");
  for (const Step& s : steps) {
    if (std::isnan(s.lo) || std::isnan(s.hi) || std::isnan(s.y)) {
      end = std::nan("");
      continue;
    }
    if (s.lo == end)
      d += fmt::format("V{:.1f}H{:.1f}", py(s.y), px(s.hi));
    else
      d += fmt::format("M{:.1f} {:.1f}H{:.1f}", px(s.lo), py(s.y), px(s.hi));
    end = s.hi;
  }
  if (!d.empty()) body_ += fmt::format("<path class=\"{}\" d=\"{}\"/>", css, d);
}

void Plot::bars(std::span<const Step> bars, std::string_view css) {
  std::string d;
  for (const Step& s : bars) {
    if (std::isnan(s.lo) || std::isnan(s.hi) || std::isnan(s.y)) continue;
    d += fmt::format("M{:.1f} {:.1f}V{:.1f}H{:.1f}V{:.1f}z", px(s.lo), height_ - kBottom, py(s.y), px(s.hi),
                     height_ - kBottom);
  }
  if (!d.empty()) body_ += fmt::format("<path class=\"{}\" d=\"{}\"/>", css, d);
}

void Plot::vertical(double x, std::string_view css) {
  if (x >= x_.lo && x <= x_.hi)
    body_ += fmt::format("<path class=\"{}\" d=\"M{:.1f} {}V{}\"/>", css, px(x), kTop, height_ - kBottom);
}

void Plot::horizontal(double y, std::string_view css) {
  if (y >= y_.lo && y <= y_.hi)
    body_ += fmt::format("<path class=\"{}\" d=\"M{} {:.1f}H{}\"/>", css, left_, py(y), width_ - right_);
}

void Plot::labels(std::span<const Label> labels) {
  struct Box {
    double left, top, right, bottom;
    bool meets(const Box& o) const {
      return left < o.right && o.left < right && top < o.bottom && o.top < bottom;
    }
  };
  constexpr double kGap = 6;
  std::vector<Box> taken;
  for (const Label& l : labels)
    if (!std::isnan(l.x) && !std::isnan(l.y))
      taken.push_back({px(l.x) - 3, py(l.y) - 3, px(l.x) + 3, py(l.y) + 3});
  for (const Label& l : labels) {
    if (std::isnan(l.x) || std::isnan(l.y)) continue;
    const double x = px(l.x), y = py(l.y), w = kChar * static_cast<double>(l.text.size());
    const Box places[] = {{x + kGap, y - kHigh / 2, x + kGap + w, y + kHigh / 2},
                          {x - kGap - w, y - kHigh / 2, x - kGap, y + kHigh / 2},
                          {x - w / 2, y - kGap - kHigh, x + w / 2, y - kGap},
                          {x - w / 2, y + kGap, x + w / 2, y + kGap + kHigh}};
    for (const Box& b : places) {
      const bool free = b.left >= left_ && b.right <= width_ - 2 && b.top >= 0 &&
                        b.bottom <= height_ - kBottom &&
                        std::none_of(taken.begin(), taken.end(), [&](const Box& o) { return b.meets(o); });
      if (!free) continue;
      taken.push_back(b);
      body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", b.left, b.bottom - 2, escape(l.text));
      break;
    }
  }
}

void Plot::leave_room_at_right(std::size_t letters) {
  right_ = kRight + 6 + kChar * static_cast<double>(letters);
}

void Plot::names_of_ends(std::span<const Label> ends) {
  struct Name {
    double x, y, at;
    const std::string* text;
  };
  std::vector<Name> names;
  for (const Label& l : ends)
    if (!std::isnan(l.x) && !std::isnan(l.y)) names.push_back({px(l.x), py(l.y), py(l.y), &l.text});
  std::stable_sort(names.begin(), names.end(), [](const Name& a, const Name& b) { return a.y < b.y; });
  // Down the room from its top, then up again from its bottom.
  double next = kTop + kHigh / 2;
  for (Name& n : names) n.at = std::max(n.at, next), next = n.at + kHigh;
  next = height_ - kBottom - kHigh / 2;
  for (std::size_t i = names.size(); i-- > 0; next = names[i].at - kHigh)
    names[i].at = std::min(names[i].at, next);
  const double left = width_ - right_ + 7;
  for (const Name& n : names) {
    if (std::abs(n.at - n.y) > 1 || n.x < width_ - right_ - 1)
      body_ +=
          fmt::format("<path class=\"lead\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>", n.x, n.y, left - 2, n.at);
    body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", left, n.at + kHigh / 2 - 1.5,
                         escape(*n.text));
  }
}

std::string Plot::frame() const {
  const double bottom = height_ - kBottom, right = width_ - right_;
  std::string grid,
      text = fmt::format("<g text-anchor=\"middle\" transform=\"translate(0 {})\">", bottom + 13);
  for (const Tick& t : ticks(x_)) {
    grid += fmt::format("M{:.1f} {}V{}", px(t.at), kTop, bottom);
    text += fmt::format("<text x=\"{:.1f}\">{}</text>", px(t.at), t.text);
  }
  text += fmt::format("</g><g text-anchor=\"end\" transform=\"translate({} 3.5)\">", left_ - 5);
  for (const Tick& t : ticks(y_)) {
    grid += fmt::format("M{} {:.1f}H{}", left_, py(t.at), right);
    text += fmt::format("<text y=\"{:.1f}\">{}</text>", py(t.at), t.text);
  }
  text += "</g><g class=\"axis\" text-anchor=\"middle\">";
  text += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>", (left_ + right) / 2, height_ - 6,
                      escape(x_.label));
  text += fmt::format("<text transform=\"translate(9 {:.1f}) rotate(-90)\">{}</text></g>",
                      (kTop + bottom) / 2, escape(y_.label));
  return fmt::format("<path class=\"grid\" d=\"{}\"/><path class=\"frame\" d=\"M{} {}V{}H{}\"/>", grid, left_,
                     kTop, bottom, right) +
         text;
}

std::string Plot::str() const {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" "
             "aria-label=\"{}\">",
             width_, height_, escape(name_)) +
         frame() + body_ + "</svg>";
}

std::string legend_sample(Marker marker, std::string_view css, std::string_view line_css) {
  std::string out =
      "<svg class=\"sample\" viewBox=\"0 0 28 12\" width=\"28\" height=\"12\" aria-hidden=\"true\">";
  if (!line_css.empty()) out += fmt::format("<path class=\"{}\" d=\"M1 6H27\"/>", line_css);
  if (!css.empty()) out += fmt::format("<path class=\"pt {}\" d=\"{}\"/>", css, mark(marker, 14, 6));
  return out + "</svg>";
}

}  // namespace assay

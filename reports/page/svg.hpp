// SPDX-License-Identifier: Apache-2.0
// Plots as SVG text: two axes, then lines, steps, bars and points on them. Colours are CSS classes, so that
// the page's light and dark styles decide them. A NaN breaks a line and is never written. A value beyond the
// end of an axis, also an infinite one, is drawn at its edge.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay {

struct Axis {
  double lo = 0, hi = 1;
  bool log = false;
  std::string label;
  bool whole = false;  // only whole numbers are written on it
};

/// `bar` lies, `post` stands; `down` is a triangle on its tip, `saltire` an x.
enum class Marker { circle, square, diamond, cross, bar, post, triangle, down, saltire, ring };

class Plot {
 public:
  struct Point {
    double x, y;
    std::string title;  // shown while the pointer is over it
  };
  struct Step {
    double lo, hi, y;
  };
  struct Label {
    double x, y;
    std::string text;
  };

  /// Screen readers read `name` aloud, in place of the picture.
  Plot(Axis x, Axis y, std::string_view name, double width = 285, double height = 200);

  void line(std::span<const Point> points, std::string_view css);
  void points(std::span<const Point> points, Marker marker, std::string_view css);
  void steps(std::span<const Step> steps, std::string_view css);
  void bars(std::span<const Step> bars, std::string_view css);  // filled from the x axis up
  void vertical(double x, std::string_view css);
  void horizontal(double y, std::string_view css);
  /// Writes each name beside its point, unless it would hide a point or another name.
  void labels(std::span<const Label> labels);
  /// Leaves room for names of so many letters at the right of everything that is drawn; called before that.
  void leave_room_at_right(std::size_t letters);
  /// Writes the name of each line into that room, at the height of its end and no closer to the next name
  /// than its letters are high. A thin line leads to a name that is not beside its end.
  void names_of_ends(std::span<const Label> ends);

  std::string str() const;

 private:
  double px(double x) const;
  double py(double y) const;
  std::string frame() const;

  Axis x_, y_;
  double width_, height_, left_, right_;
  std::string name_, body_;
};

/// A short piece of a line with its marker, for a legend in HTML.
std::string legend_sample(Marker marker, std::string_view css, std::string_view line_css);

}  // namespace assay

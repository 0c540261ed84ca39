// SPDX-License-Identifier: Apache-2.0
// The figures of a record that are measured over its judged elements. A new figure is a member of Figures and
// a row of kFigures: JSON writes and reads it, and tables can show it, without another line.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace assay {

/// The errors of the judged elements, one after the other.
struct ElementErrors {
  std::vector<float> ulp;  // upper end of each element's ulp error
  double sum_ulp = 0, largest_ulp = 0;
  std::int64_t correctly_rounded = 0;
  std::int64_t weak = 0;  // elements with A >= ln 2
  bool keeps_ends = false;
  std::vector<std::pair<double, double>> ends;  // if they are kept: both ends of each element's ulp error

  void take(double least_ulp, double most_ulp, bool is_correctly_rounded, bool is_weak) {
    if (keeps_ends) ends.emplace_back(least_ulp, most_ulp);
    ulp.push_back(static_cast<float>(most_ulp));
    sum_ulp += most_ulp;
    if (!(most_ulp <= largest_ulp)) largest_ulp = most_ulp;
    correctly_rounded += is_correctly_rounded;
    weak += is_weak;
  }
  /// The smallest error that this share of the elements does not exceed. Reorders `ulp`.
  double quantile(double share) {
    const auto at = ulp.begin() + static_cast<std::ptrdiff_t>(std::ceil(share * count()) - 1);
    std::nth_element(ulp.begin(), at, ulp.end());
    return static_cast<double>(*at);
  }
  /// The largest error as an f32 number, rounded up: a promise of what was recorded holds.
  double largest() const {
    const auto nearest = static_cast<float>(largest_ulp);
    const bool below = static_cast<double>(nearest) < largest_ulp;
    return static_cast<double>(below ? std::nextafter(nearest, HUGE_VALF) : nearest);
  }
  double count() const { return static_cast<double>(ulp.size()); }
};

/// Empty where nothing was judged; JSON then holds null.
struct Figures {
  std::optional<double> max_ulp, p99_ulp, mean_ulp;
  std::optional<double> correctly_rounded;  // share of elements, 0..1
};

using FigureValue = std::optional<double> Figures::*;
struct Figure {
  const char* name;  // of the field in JSON
  FigureValue value;
  double (*measure)(ElementErrors&);  // of one element or more
  /// True if a record of several launches holds the largest value of them. Otherwise it holds none.
  bool largest_of_launches;
};

inline constexpr Figure kFigures[] = {
    {"max_ulp", &Figures::max_ulp, [](ElementErrors& e) { return e.largest(); }, true},
    {"p99_ulp", &Figures::p99_ulp, [](ElementErrors& e) { return e.quantile(0.99); }, false},
    {"mean_ulp", &Figures::mean_ulp, [](ElementErrors& e) { return e.sum_ulp / e.count(); }, false},
    {"correctly_rounded", &Figures::correctly_rounded,
     [](ElementErrors& e) { return static_cast<double>(e.correctly_rounded) / e.count(); }, false},
};
static_assert(sizeof(Figures) == std::size(kFigures) * sizeof(std::optional<double>), "a figure has no row");

}  // namespace assay

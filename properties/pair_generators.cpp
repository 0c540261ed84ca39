// SPDX-License-Identifier: Apache-2.0
#include "properties/pair_generators.hpp"

#include <cmath>
#include <limits>

#include "properties/float_generators.hpp"

namespace assay {
namespace {

float nearest(Dtype t, double x) { return static_cast<float>(round_to(t, x)); }
Float value(Dtype t, float x) { return {t, encode(t, static_cast<double>(x))}; }

Pair draw_pair(Draw& draw, Carrier carrier, Dtype t, Pair near) {
  const bool any = carrier == Carrier::any;
  float m = draw_float(draw, t, {any, any}).as_float();
  // Unrelated maxima are nearly always so far apart that one side vanishes. So most are drawn near each
  // other.
  if (std::isfinite(near.m) && !draw.one_in(4))
    m = nearest(t, static_cast<double>(near.m) + draw.between(-20, 20));
  if (draw.one_in(8)) m = near.m;
  if (draw.one_in(8)) m = -near.m;
  if (draw.one_in(16) && std::isfinite(near.m)) {
    const double next = next_up(t, std::fabs(static_cast<double>(near.m)));
    if (std::isfinite(next)) m = static_cast<float>(std::copysign(next, static_cast<double>(near.m)));
  }
  if (draw.one_in(16)) m = draw.one_in(2) ? 0.0f : -0.0f;
  if (any && draw.one_in(16))
    m = draw.one_in(2) ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  if (!any && !std::isfinite(m)) m = 0;
  if (m == -std::numeric_limits<float>::infinity() || (any && draw.one_in(16)))
    return {-std::numeric_limits<float>::infinity(), 0};
  const int p = assay::format(t).precision;
  double d = std::ldexp(draw.between(1, 2), static_cast<int>(draw.below(static_cast<std::uint64_t>(p))));
  if (draw.one_in(2)) d = std::floor(d);
  if (any && draw.one_in(4)) return {m, draw_float(draw, t, {true, true}).as_float()};
  return {m, nearest(t, d)};
}

}  // namespace

rc::Gen<std::vector<Pair>> pairs(int n, Carrier carrier, Dtype format) {
  const auto shrink_pair = [format](Pair p) {
    std::vector<Pair> rounder_pairs;
    for (Float m : rounder(value(format, p.m))) rounder_pairs.push_back({m.as_float(), p.d});
    if (!is_identity(p))
      for (Float d : rounder(value(format, p.d))) rounder_pairs.push_back({p.m, d.as_float()});
    return rc::seq::fromContainer(rounder_pairs);
  };
  return [=](const rc::Random& random, int) {
    Draw draw{random};
    std::vector<Pair> v;
    Pair near{draw.one_in(4) ? 0.0f : nearest(format, draw.between(-20, 20)), 1};
    for (int i = 0; i < n; ++i) v.push_back(near = draw_pair(draw, carrier, format, near));
    return rc::shrinkable::shrinkRecur(
        v, [=](const std::vector<Pair>& w) { return rc::shrink::eachElement(w, shrink_pair); });
  };
}

}  // namespace assay

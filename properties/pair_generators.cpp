#include "properties/pair_generators.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <ostream>

#include "properties/float_generators.hpp"

namespace assay {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::uint32_t float_bits(float x) { return std::bit_cast<std::uint32_t>(x); }

Pair draw_pair(Draw& draw, Carrier carrier, Pair near) {
  const bool any = carrier == Carrier::any;
  float m = draw_float(draw, Dtype::f32, {any, any}).as_float();
  // Unrelated maxima are nearly always so far apart that one side vanishes.
  if (std::isfinite(near.m) && !draw.one_in(4)) m = static_cast<float>(near.m + draw.between(-20, 20));
  if (draw.one_in(8)) m = near.m;
  if (draw.one_in(8)) m = -near.m;
  if (draw.one_in(16)) m = std::nextafter(near.m, draw.one_in(2) ? kInfinity : -kInfinity);
  if (draw.one_in(16)) m = draw.one_in(2) ? 0.0f : -0.0f;
  if (any && draw.one_in(16)) m = draw.one_in(2) ? kInfinity : std::numeric_limits<float>::quiet_NaN();
  if (!any && !std::isfinite(m)) m = 0;
  if (m == -kInfinity || (any && draw.one_in(16))) return {-kInfinity, 0};
  float d = static_cast<float>(std::ldexp(draw.between(1, 2), static_cast<int>(draw.below(24))));
  if (draw.one_in(2)) d = std::floor(d);
  if (any && draw.one_in(4)) d = draw_float(draw, Dtype::f32, {true, true}).as_float();
  return {m, d};
}

}  // namespace

void showValue(const Pair& p, std::ostream& os) { os << fmt::format("({:a}, {:a})", p.m, p.d); }

bool same(float a, float b) { return float_bits(a) == float_bits(b) || (std::isnan(a) && std::isnan(b)); }

rc::Gen<std::vector<Pair>> pairs(int n, Carrier carrier) {
  const auto shrink_pair = [](Pair p) {
    std::vector<Pair> rounder_pairs;
    for (Float m : rounder({Dtype::f32, float_bits(p.m)})) rounder_pairs.push_back({m.as_float(), p.d});
    if (!is_identity(p))
      for (Float d : rounder({Dtype::f32, float_bits(p.d)})) rounder_pairs.push_back({p.m, d.as_float()});
    return rc::seq::fromContainer(rounder_pairs);
  };
  return [=](const rc::Random& random, int) {
    Draw draw{random};
    std::vector<Pair> v;
    Pair near{draw.one_in(4) ? 0.0f : static_cast<float>(draw.between(-20, 20)), 1};
    for (int i = 0; i < n; ++i) v.push_back(near = draw_pair(draw, carrier, near));
    return rc::shrinkable::shrinkRecur(
        v, [=](const std::vector<Pair>& w) { return rc::shrink::eachElement(w, shrink_pair); });
  };
}

}  // namespace assay

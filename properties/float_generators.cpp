// SPDX-License-Identifier: Apache-2.0
#include "properties/float_generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>

namespace assay {
namespace {

Float rounded(Dtype t, double x) { return {t, encode(t, x)}; }
Float negative_infinity(Dtype t) { return {t, format(t).sign_mask() | format(t).infinity_bits()}; }
bool is_finite(Float x) { return class_of(x) <= FloatClass::normal; }

Float draw_moderate(Draw& draw, Dtype t) { return rounded(t, draw.between(-20, 20)); }

Float draw_poison(Draw& draw, Dtype t) {
  const Format f = format(t);
  if (draw.one_in(2)) return {t, f.infinity_bits()};
  const std::uint64_t payload = 1 + draw.below(f.mantissa_mask());
  return {t, (draw.one_in(2) ? f.sign_mask() : 0) | f.exponent_mask() | payload};
}

/// Overwrites a run of elements. Half of the runs start at the front.
void mask_run(Draw& draw, std::vector<Float>& x) {
  const std::size_t first = draw.one_in(2) ? 0 : draw.below(x.size());
  const std::size_t length = 1 + draw.below(x.size() - first);
  std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(first), length, negative_infinity(x.front().format));
}

std::vector<Float> draw_logits(Draw& draw, Dtype t, Structure s, std::size_t n) {
  std::vector<Float> x(n, Float{t, 0});
  switch (s) {
    case Structure::uniform:
      for (Float& v : x) v = draw_float(draw, t, {});
      break;
    case Structure::equal_runs: {
      Float current = draw_moderate(draw, t);
      const Float other = draw_moderate(draw, t);
      for (Float& v : x) {
        if (draw.one_in(8)) current = draw.one_in(2) ? other : draw_moderate(draw, t);
        v = current;
      }
      break;
    }
    case Structure::ramp: {
      const Float start = rounded(t, draw.between(0.5, 20));  // positive: the next bits are the next value
      for (std::size_t i = 0; i < n; ++i) x[i] = {t, start.bits + i};
      break;
    }
    case Structure::huge:
      for (Float& v : x) v = rounded(t, max_finite(t) * draw.between(-1, 1));
      break;
    case Structure::overflow: {
      // 1 to 8 times the value at which exp overflows (11.09 in f16, 88.7 otherwise); sometimes all of one
      // sign.
      const double edge = t == Dtype::f16 ? 11.09 : 88.8;
      const std::uint64_t sign = draw.below(4);
      for (Float& v : x) {
        const double magnitude = edge * draw.between(1, 8);
        v = rounded(t, sign == 0 || (sign == 1 && draw.one_in(2)) ? -magnitude : magnitude);
      }
      break;
    }
    case Structure::mixed:
      for (Float& v : x) {
        switch (draw.below(5)) {
          case 0:
            v = draw_float(draw, t, {});
            break;
          case 1:
            v = {t,
                 (draw.one_in(2) ? format(t).sign_mask() : 0) | (1 + draw.below(format(t).mantissa_mask()))};
            break;
          case 2:
            v = rounded(t, draw.between(-1e-3, 1e-3));
            break;
          case 3:
            v = rounded(t, draw.between(-200, 200));
            break;
          default:
            v = draw_moderate(draw, t);
        }
      }
      break;
    case Structure::all_neg_inf:
      for (Float& v : x) v = negative_infinity(t);
      break;
    case Structure::moderate:
    case Structure::ascending:
    case Structure::masked:
    case Structure::poisoned:
      for (Float& v : x) v = draw_moderate(draw, t);
  }
  if (s == Structure::ascending)
    std::sort(x.begin(), x.end(), [](Float a, Float b) { return a.value() < b.value(); });
  if (s == Structure::masked) {
    const Float survivor = x.back();
    for (std::uint64_t runs = 1 + draw.below(3); runs > 0; --runs) mask_run(draw, x);
    x[draw.one_in(2) ? n - 1 : draw.below(n)] = survivor;
  }
  if (s == Structure::poisoned) {
    if (draw.one_in(4)) mask_run(draw, x);
    for (std::uint64_t i = 1 + draw.below(2); i > 0; --i) x[draw.below(n)] = draw_poison(draw, t);
  }
  return x;
}

/// True if `row`, shrunk from `from`, still has the features that it must keep.
bool keeps_promise(const Row& from, const Row& row) {
  if (row.logits.empty()) return false;
  // If -inf occurs in a structure that does not promise it, -inf may be what makes it fail.
  if (from.has(FloatClass::negative_infinity) && !row.has(FloatClass::negative_infinity)) return false;
  if (row.structure == Structure::poisoned)
    return from.has(FloatClass::nan) == row.has(FloatClass::nan) &&
           from.has(FloatClass::positive_infinity) == row.has(FloatClass::positive_infinity);
  if (row.structure == Structure::all_neg_inf) return true;
  return std::any_of(row.logits.begin(), row.logits.end(), is_finite);
}

rc::Seq<Row> shrink_row(const Row& row) {
  const Structure s = row.structure;
  const auto with = [s](std::vector<Float> x) { return Row{s, std::move(x)}; };
  auto shorter = rc::seq::map(rc::shrink::removeChunks(row.logits), with);
  auto rounder_logits = rc::seq::map(
      rc::shrink::eachElement(row.logits, [](Float v) { return rc::seq::fromContainer(rounder(v)); }), with);
  return rc::seq::filter(rc::seq::concat(std::move(shorter), std::move(rounder_logits)),
                         [row](const Row& r) { return keeps_promise(row, r); });
}

}  // namespace

const char* name(FloatClass c) {
  constexpr const char* kNames[kFloatClasses] = {"zero", "subnormal", "normal", "-inf", "+inf", "NaN"};
  return kNames[static_cast<int>(c)];
}

const char* name(Structure s) {
  constexpr const char* kNames[kStructures] = {"uniform", "moderate",    "equal_runs", "ascending",
                                               "ramp",    "huge",        "overflow",   "mixed",
                                               "masked",  "all_neg_inf", "poisoned"};
  return kNames[static_cast<int>(s)];
}

void showValue(const Float& x, std::ostream& os) {
  os << fmt::format("{} {:#0{}x} ({:a})", name(x.format), x.bits, format(x.format).bits / 4 + 2, x.value());
}

void showValue(const Row& row, std::ostream& os) {
  os << name(row.structure) << " row of " << row.logits.size() << " " << name(row.logits.front().format)
     << ":";
  for (const Float& x : row.logits) os << fmt::format(" {:a}", x.value());
}

FloatClass class_of(Float x) {
  const Format f = format(x.format);
  const std::uint64_t magnitude = x.bits & ~f.sign_mask();
  if (magnitude > f.infinity_bits()) return FloatClass::nan;
  if (magnitude == f.infinity_bits())
    return x.bits & f.sign_mask() ? FloatClass::negative_infinity : FloatClass::positive_infinity;
  if (magnitude > f.mantissa_mask()) return FloatClass::normal;
  return magnitude == 0 ? FloatClass::zero : FloatClass::subnormal;
}

Float draw_float(Draw& draw, Dtype t, Specials specials) {
  const Format f = format(t);
  const std::uint64_t sign = draw.one_in(2) ? f.sign_mask() : 0;
  const std::uint64_t mantissa = draw.bits() & f.mantissa_mask();
  const std::uint64_t one = encode(t, 1.0);
  const std::uint64_t extremes[] = {
      1, f.mantissa_mask(), f.mantissa_mask() + 1, f.infinity_bits() - 1, one, one - 1, one + 1};
  switch (draw.below(16)) {
    case 0:
      return {t, sign};
    case 1:
      return {t, sign | std::max<std::uint64_t>(mantissa, 1)};
    case 2:
      return {t, sign | extremes[draw.below(std::size(extremes))]};
    case 3:
      if (specials.infinities) return {t, sign | f.infinity_bits()};
      break;
    case 4:
      if (specials.nan) return {t, sign | f.exponent_mask() | std::max<std::uint64_t>(mantissa, 1)};
      break;
    default:
      break;
  }
  const std::uint64_t exponents = static_cast<std::uint64_t>(f.emax - f.emin + 1);
  return {t, sign | (1 + draw.below(exponents)) << f.mantissa_bits() | mantissa};
}

std::vector<Float> rounder(Float x) {
  const Format f = format(x.format);
  const std::uint64_t sign = x.bits & f.sign_mask();
  const std::uint64_t mantissa = x.bits & f.mantissa_mask();
  std::vector<Float> result;
  const auto offer = [&](std::uint64_t bits) {
    if (bits != x.bits) result.push_back({x.format, bits});
  };
  switch (class_of(x)) {
    case FloatClass::zero:
      offer(0);
      break;
    case FloatClass::positive_infinity:
    case FloatClass::negative_infinity:
      break;
    case FloatClass::nan:
      offer(f.exponent_mask() | std::uint64_t{1} << (f.mantissa_bits() - 1));
      break;
    case FloatClass::subnormal:  // the order is sign, then magnitude
      offer(1);
      offer(x.bits & ~f.sign_mask());
      offer(sign | std::bit_floor(mantissa));
      if (!std::has_single_bit(mantissa)) offer(sign | (mantissa & (mantissa - 1)));
      break;
    case FloatClass::normal: {  // the order is |exponent|, sign, ones in the mantissa
      const std::uint64_t biased = (x.bits & f.exponent_mask()) >> f.mantissa_bits();
      const std::int64_t e = static_cast<std::int64_t>(biased) - f.emax;
      const auto scaled = [&](std::int64_t to) {
        offer(sign | static_cast<std::uint64_t>(to + f.emax) << f.mantissa_bits() | mantissa);
      };
      offer(encode(x.format, 1.0));
      offer(x.bits & ~f.sign_mask());
      offer(x.bits & ~f.mantissa_mask());
      scaled(0);
      scaled(e / 2);
      scaled(e > 0 ? e - 1 : e < 0 ? e + 1 : 0);
      const std::uint64_t low_half = (std::uint64_t{1} << (f.mantissa_bits() / 2)) - 1;
      offer(x.bits & ~low_half);
      if (mantissa != 0) offer(x.bits & (x.bits - 1));
      break;
    }
  }
  return result;
}

rc::Gen<Float> floats(Dtype format, Specials specials) {
  return [=](const rc::Random& random, int) {
    Draw draw{random};
    return rc::shrinkable::shrinkRecur(draw_float(draw, format, specials),
                                       [](Float x) { return rc::seq::fromContainer(rounder(x)); });
  };
}

rc::Gen<Row> rows(std::vector<Structure> structures, std::vector<Dtype> formats, std::size_t longest) {
  return [=](const rc::Random& random, int size) {
    Draw draw{random};
    const Structure s = structures[draw.below(structures.size())];
    const Dtype t = formats[draw.below(formats.size())];
    const std::size_t n = 1 + draw.below(1 + longest * static_cast<std::size_t>(size) / 100);
    return rc::shrinkable::shrinkRecur(Row{s, draw_logits(draw, t, s, n)}, shrink_row);
  };
}

bool Row::has(FloatClass c) const {
  return std::any_of(logits.begin(), logits.end(), [c](Float x) { return class_of(x) == c; });
}

std::vector<std::string> tags_of(const Row& row) {
  std::vector<std::string> tags{name(row.structure)};
  for (int c = 0; c < kFloatClasses; ++c)
    if (row.has(static_cast<FloatClass>(c))) tags.push_back(name(static_cast<FloatClass>(c)));
  // Tags what the values do, whatever the structure is called.
  const Dtype t = row.format();
  const double edge = t == Dtype::f16 ? 11.09 : 88.73;  // beyond it e^x overflows
  double largest = -max_finite(t), least = max_finite(t);
  int at_largest = 0;
  bool negative_zero = false;
  for (const Float& v : row.logits) {
    if (!is_finite(v)) continue;
    const double x = v.value();
    at_largest = x > largest ? 1 : at_largest + (x == largest);
    largest = std::max(largest, x);
    least = std::min(least, x);
    negative_zero = negative_zero || (x == 0 && std::signbit(x));
  }
  if (at_largest == 0) return tags;
  if (largest > edge) tags.push_back("e^max overflows");
  if (largest < -edge) tags.push_back("e^max vanishes");
  if (largest - least > max_finite(t)) tags.push_back("x - max overflows");
  if (at_largest > 1) tags.push_back("tie at the maximum");
  if (negative_zero) tags.push_back("-0");
  return tags;
}

void classify(const Row& row) {
  for (const std::string& tag : tags_of(row)) RC_TAG(tag);
}

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

rc::Gen<std::vector<Pair>> drawn_pairs(int n, Carrier carrier, Dtype format) {
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

// SPDX-License-Identifier: Apache-2.0
// The statistics of a sweep over the arguments of one function, and how one judged value enters them. Host
// and device share this source. Merging two halves gives the same as one pass over both, except for the last
// bits of a sum.
#pragma once

#include <cstdint>

#include "accuracy/functions/function_element.hpp"
#include "accuracy/merge_members.hpp"

namespace assay::functions {

/// The largest of a quantity, and the first argument that has it.
struct Worst {
  double value = -1;        // -1: nothing seen
  std::int64_t index = -1;  // in the sweep's space
  std::uint32_t got = 0;    // bits of the result

  ASSAY_HOST_DEVICE void take(double v, std::int64_t i, std::uint32_t g) {
    if (v > value || (v == value && i < index)) {
      value = v;
      index = i;
      got = g;
    }
  }
  ASSAY_HOST_DEVICE void merge(const Worst& o) {
    if (o.index >= 0) take(o.value, o.index, o.got);
  }
};

/// How often something occurred that must not, and the first argument where it did.
struct Broken {
  std::int64_t count = 0;
  std::int64_t index = -1;
  std::uint32_t got = 0;

  ASSAY_HOST_DEVICE void at(std::int64_t i, std::uint32_t g) {
    ++count;
    if (index < 0 || i < index) {
      index = i;
      got = g;
    }
  }
  ASSAY_HOST_DEVICE void merge(const Broken& o) {
    if (o.count == 0) return;
    if (index < 0 || o.index < index) {
      index = o.index;
      got = o.got;
    }
    count += o.count;
  }
};

/// How many arguments were of which kind.
struct Counts {
  std::int64_t inputs = 0;
  std::int64_t judged = 0;     // finite, non-zero exact results within the documented domain
  std::int64_t correct = 0;    // of those, correctly rounded
  std::int64_t undecided = 0;  // of those, left to MPFR; not counted in anything else here
  std::int64_t subnormal = 0;  // of those, with a subnormal exact result
  std::int64_t outside = 0;    // outside the documented domain: not judged
  std::int64_t special = 0;    // NaN, infinite or zero by rule
};

struct Stats : Counts {
  Worst ulp;              // largest error of a normal result, ulp
  Worst tiny;             // of a subnormal result, in smallest subnormals
  Worst relative;         // of a normal result, in units of 2^-p
  Worst absolute;         // where only an absolute error is documented
  Worst slope;            // (error - limit) / |a|, ulp; above 0 only where the limit is not enough
  double signed_sum = 0;  // ulp, over normal results with an argument in [mean_lo, mean_hi]
  std::int64_t signed_count = 0;
  Broken special_wrong;  // a special result that breaks the rule
  Broken not_one;        // exp(+-0) is not 1
  Broken not_in_unit;    // exp(t), t <= 0, outside [0, 1] or with a sign
  Broken descent;        // two neighbouring arguments have results in the wrong order
  Broken nan;            // a NaN where the exact result is a number

  ASSAY_HOST_DEVICE void merge(const Stats& o) {
    add_members<Counts>(*this, o, &Counts::inputs, &Counts::judged, &Counts::correct, &Counts::undecided,
                        &Counts::subnormal, &Counts::outside, &Counts::special);
    merge_members(*this, o, &Stats::ulp, &Stats::tiny, &Stats::relative, &Stats::absolute, &Stats::slope);
    add_members(*this, o, &Stats::signed_sum, &Stats::signed_count);
    merge_members(*this, o, &Stats::special_wrong, &Stats::not_one, &Stats::not_in_unit, &Stats::descent,
                  &Stats::nan);
  }
};

/// One value as the sweep sees it: its place, its arguments, its result.
struct Sample {
  std::int64_t index;
  double a, b;  // already flushed if the function flushes
  std::uint32_t got_bits;
  double got;
};

ASSAY_HOST_DEVICE bool has_sign(const Rules& f, std::uint32_t bits) { return bits >> (f.bits - 1) & 1; }

/// Enters a decided value, from the fast tier or from MPFR.
ASSAY_HOST_DEVICE void enter_decided(Stats& s, const Rules& f, const Sample& x, const Judged& j) {
  s.correct += j.correct;
  if (!(x.got == x.got)) s.nan.at(x.index, x.got_bits);
  const double normal = fast::from_bits((1023 + static_cast<std::int64_t>(f.mantissa)) << 52);
  const bool is_normal = j.size >= normal;
  if (f.absolute_lo <= x.a && x.a <= f.absolute_hi) {
    s.absolute.take(j.error * j.unit, x.index, x.got_bits);
  } else {
    if (is_normal) {
      s.ulp.take(j.error, x.index, x.got_bits);
      s.relative.take(j.relative * (2 * normal), x.index, x.got_bits);
    } else {
      s.tiny.take(j.error, x.index, x.got_bits);
    }
    const double limit = is_normal ? f.limit : f.limit_subnormal;
    if (f.slope && !(j.error <= limit)) {
      // An error that grows with the argument is relative, so it shrinks with a subnormal result.
      const double share = is_normal ? 1 : j.size / normal;
      const double size = x.a < 0 ? -x.a : x.a;
      s.slope.take((j.error - limit) / (size * share), x.index, x.got_bits);
    }
  }
  s.subnormal += !is_normal;
  if (is_normal && f.mean_lo <= x.a && x.a <= f.mean_hi) {
    s.signed_sum += j.signed_error;
    ++s.signed_count;
  }
}

/// Enters one value. Returns false if it is undecided: the caller keeps it for MPFR.
template <Truth truth>
ASSAY_HOST_DEVICE bool enter(Stats& s, const Rules& f, const Sample& x, const Judged& j) {
  ++s.inputs;
  if constexpr (truth == Truth::exp || truth == Truth::exp2) {
    if (x.a == 0 && !(x.got == 1)) s.not_one.at(x.index, x.got_bits);
    if (x.a <= 0 && !(x.got >= 0 && x.got <= 1 && !has_sign(f, x.got_bits)))
      s.not_in_unit.at(x.index, x.got_bits);
  }
  if constexpr (truth == Truth::divide) {
    const double size = x.b < 0 ? -x.b : x.b;
    if (!(f.divisor_lo <= size && size <= f.divisor_hi) && size == size && size != 0 && size - size == 0) {
      ++s.outside;
      return true;
    }
  }
  double rule;
  if (special_value<truth>(x.a, x.b, rule)) {
    ++s.special;
    if ((truth == Truth::exp || truth == Truth::exp2) && x.a < 0) rule = f.floor;
    const bool right = rule == rule ? x.got == rule && (rule != 0 || truth == Truth::log ||
                                                        has_sign(f, x.got_bits) == (1 / rule < 0))
                                    : !(x.got == x.got);
    if (!right) s.special_wrong.at(x.index, x.got_bits);
    return true;
  }
  ++s.judged;
  if (!j.decided) {
    ++s.undecided;
    return false;
  }
  enter_decided(s, f, x, j);
  return true;
}

/// Compares a result with the result of the previous argument in the space.
template <Truth truth>
ASSAY_HOST_DEVICE void enter_order(Stats& s, const Rules& f, const Sample& x, double previous) {
  // Results increase for exp and log. A quotient increases with its first argument if the second is positive.
  // A reciprocal decreases on either side of 0.
  double direction = 1;
  if constexpr (truth == Truth::divide) {
    const double size = x.b < 0 ? -x.b : x.b;
    if (!(f.divisor_lo <= size && size <= f.divisor_hi)) return;
    direction = f.space == Space::all || x.b < 0 || 1 / x.b < 0 ? -1 : 1;
  }
  if (direction * x.got < direction * previous) s.descent.at(x.index, x.got_bits);
}

}  // namespace assay::functions

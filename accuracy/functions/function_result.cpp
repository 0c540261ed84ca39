// SPDX-License-Identifier: Apache-2.0
#include "accuracy/functions/function_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "accuracy/functions/function_sweep.hpp"
#include "reference/mpfr_value.hpp"

namespace assay {
namespace {

using Largest = FunctionResult::Largest;
using Violation = FunctionResult::Violation;

/// Says in words what a sweep's places and bits mean.
struct Reader {
  const functions::Function& f;
  functions::Rules rules;

  std::string argument(std::int64_t place) const {
    const functions::Sample x = functions::sample_at(rules, place, 0);
    if (f.truth != functions::Truth::divide) return fmt::format("{:a}", x.a);
    return f.space == functions::Space::all ? fmt::format("{:a}", x.b) : fmt::format("{:a} / {:a}", x.a, x.b);
  }
  Largest largest(const functions::Worst& w, double unit = 1) const {
    if (w.index < 0) return {};
    return {w.value * unit, argument(w.index), fmt::format("{:a}", value_of_bits(rules, w.got))};
  }
  Violation violation(const functions::Broken& b) const {
    if (b.count == 0) return {};
    return {b.count, argument(b.index), fmt::format("{:a}", value_of_bits(rules, b.got))};
  }
};

}  // namespace

FunctionResult measure(const functions::Function& f, const functions::SweepOptions& options) {
  FunctionResult r;
  r.name = f.name;
  r.dtype = name(f.dtype);
  r.backend = name(f.backend);
  r.stride = functions::effective_stride(functions::rules_of(f), options.stride);
  if (!f.missing.empty()) {
    r.status = Status::not_run;
    r.reason = f.missing;
    return r;
  }
  const functions::SweepOutcome o = functions::sweep(f, options);
  const functions::Stats& s = o.stats;
  const Reader read{f, functions::rules_of(f)};
  static_cast<functions::Counts&>(r) = s;
  r.decided_by_mpfr = o.decided_by_mpfr;
  r.undecided = o.undecided;
  r.ulp = read.largest(s.ulp);
  r.tiny = read.largest(s.tiny);
  r.relative = read.largest(s.relative);
  r.absolute = read.largest(s.absolute);
  r.slope = read.largest(s.slope);
  r.mean_count = s.signed_count;
  r.mean_signed = s.signed_count > 0 ? s.signed_sum / static_cast<double>(s.signed_count) : 0;
  r.descent = read.violation(s.descent);
  r.not_one = read.violation(s.not_one);
  r.not_in_unit = read.violation(s.not_in_unit);
  r.special_wrong = read.violation(s.special_wrong);
  r.nan = read.violation(s.nan);
  r.seconds = o.seconds;
  std::vector<std::string> against = contradictions(f.declared(), r);
  if (!o.fault.empty()) against.insert(against.begin(), o.fault);
  r.status = against.empty() ? Status::pass : Status::fail;
  for (const std::string& a : against) r.reason += (r.reason.empty() ? "" : "; ") + a;
  return r;
}

std::vector<std::string> contradictions(const DeclaredError& d, const FunctionResult& r) {
  std::vector<std::string> out;
  const auto never = [&](const Violation& v, const char* what) {
    if (v.count != 0)
      out.push_back(
          fmt::format("{}: {} times, first at {}, which gives {}", what, v.count, v.argument, v.got));
  };
  const auto within = [&](const char* what, const Largest& w, double limit) {
    if (w.measured() || std::isnan(w.value))
      if (!(w.value <= limit))
        out.push_back(fmt::format("{} {:.6g}, declared {:.6g}: at {}, which gives {}", what, w.value, limit,
                                  w.argument, w.got));
  };
  if (!(r.judged > 0)) out.push_back("nothing was judged");
  if (r.undecided != 0) out.push_back(fmt::format("{} values undecided after MPFR", r.undecided));
  never(r.nan, "NaN where the exact result is a number");
  never(r.not_one, "exp(0) is not 1");
  never(r.not_in_unit, "exp(t) for t <= 0 is not in [0, 1]");
  never(r.special_wrong, "a special argument does not give what the rule says");
  if (d.monotone) never(r.descent, "not monotone");
  // With a slope, an error beyond the constant part must be within the slope; without one, no error may be
  // beyond it.
  if (d.slope > 0) {
    within("slope beyond the constant error, ulp per unit,", r.slope, d.slope);
  } else {
    within("ulp error", r.ulp, d.limit());
    within("error of a subnormal result, in smallest subnormals,", r.tiny, d.subnormal_limit());
  }
  if (d.absolute > 0) within("absolute error on [1/2, 2]", r.absolute, d.absolute);
  if (d.relative > 0) {
    const auto dtype = parse_dtype(r.dtype);
    within("relative error, u,", r.relative, dtype ? d.relative / unit_roundoff(*dtype) : 0);
  }
  return out;
}

const DeclaredError* find_declared(const FunctionResult& r) {
  for (const DeclaredError& d : declared_errors())
    if (r.name == d.name && r.dtype == name(d.dtype) && r.backend == name(d.backend)) return &d;
  return nullptr;
}

}  // namespace assay

namespace assay::functions {

// Judges one value of a function under test by MPFR.

namespace {

void exact_in(mpfr_ptr out, Truth truth, double a, double b, mpfr_rnd_t rounding) {
  MpfrValue x(53);
  // Beyond 2^20 results overflow or vanish in every format, and so would MPFR's. The value at the end stands
  // for the values beyond it, because no rounding distinguishes them.
  if (truth == Truth::exp || truth == Truth::exp2) a = std::clamp(a, -0x1p20, 0x1p20);
  mpfr_set_d(x, a, MPFR_RNDN);
  switch (truth) {
    case Truth::exp:
      mpfr_exp(out, x, rounding);
      return;
    case Truth::exp2:
      mpfr_exp2(out, x, rounding);
      return;
    case Truth::log:
      mpfr_log(out, x, rounding);
      return;
    case Truth::divide:
      mpfr_div_d(out, x, b, rounding);
  }
}

}  // namespace

Judged decide_by_mpfr(const Rules& r, const Sample& x) {
  free_mpfr_cache_at_thread_exit();
  const Dtype dtype = r.bits == 32 ? Dtype::f32 : r.mantissa == 7 ? Dtype::bf16 : Dtype::f16;
  Judged j{};
  for (mpfr_prec_t precision = 128; precision <= 4096 && !j.decided; precision *= 2) {
    MpfrValue lo(precision), hi(precision);
    exact_in(lo, r.truth, x.a, x.b, MPFR_RNDD);
    exact_in(hi, r.truth, x.a, x.b, MPFR_RNDU);
    const std::uint64_t rounded = round_bits(dtype, lo);
    const auto unit_exponent = [&r](mpfr_srcptr v) {
      return std::clamp<long>(static_cast<long>(mpfr_get_exp(v)) - 1, r.emin, r.emax) - r.mantissa;
    };
    const long exponent = unit_exponent(lo);
    j.decided = rounded == round_bits(dtype, hi) && exponent == unit_exponent(hi);
    j.unit = std::ldexp(1.0, static_cast<int>(exponent));
    j.correct = x.got_bits == rounded;
    // Distances in units, rounded outward; infinity stands for 2^(emax + 1).
    const double over = std::ldexp(1.0, r.emax + 1);
    const double got = std::isinf(x.got) ? std::copysign(over, x.got) : x.got;
    MpfrValue distance(precision);
    double error = 0, signed_error = 0;
    for (mpfr_srcptr end : {static_cast<mpfr_srcptr>(lo), static_cast<mpfr_srcptr>(hi)}) {
      mpfr_d_sub(distance, got, end, MPFR_RNDA);
      mpfr_div_2si(distance, distance, exponent, MPFR_RNDN);
      signed_error = mpfr_get_d(distance, MPFR_RNDN) * (mpfr_signbit(end) ? -1 : 1);
      error = std::max(error, std::fabs(mpfr_get_d(distance, MPFR_RNDA)));
    }
    const bool overflowed = std::isinf(x.got) && j.correct;
    j.error = std::isnan(x.got) ? HUGE_VAL : overflowed ? 0 : error;
    j.signed_error = overflowed || std::isnan(x.got) ? 0 : signed_error;
    j.size = std::fabs(mpfr_get_d(lo, MPFR_RNDN)) / j.unit;
    j.relative = j.error / j.size;
  }
  return j;
}

}  // namespace assay::functions

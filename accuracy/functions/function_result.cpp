// SPDX-License-Identifier: Apache-2.0
#include "accuracy/functions/function_result.hpp"

#include <fmt/format.h>

#include <cmath>

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
    r.status = "not_run";
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
  r.status = against.empty() ? "pass" : "fail";
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

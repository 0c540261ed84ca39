#include "accuracy/functions/function_result.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "reference/error.hpp"

namespace assay {

using nlohmann::json;

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
  r.inputs = s.inputs;
  r.judged = s.judged;
  r.correct = s.correct;
  r.subnormal = s.subnormal;
  r.special = s.special;
  r.outside = s.outside;
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

namespace {

json number_json(double v) {
  if (std::isfinite(v)) return v;
  return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
}
double number_from(const json& j) {
  if (j.is_number()) return j.get<double>();
  const auto s = j.get<std::string>();
  if (s == "inf") return std::numeric_limits<double>::infinity();
  if (s == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

constexpr std::pair<const char*, Largest FunctionResult::*> kLargest[] = {
    {"max_ulp", &FunctionResult::ulp},
    {"max_subnormal", &FunctionResult::tiny},
    {"max_relative_u", &FunctionResult::relative},
    {"max_absolute", &FunctionResult::absolute},
    {"slope", &FunctionResult::slope},
};
constexpr std::pair<const char*, Violation FunctionResult::*> kViolations[] = {
    {"not_monotone", &FunctionResult::descent},
    {"exp_0_not_1", &FunctionResult::not_one},
    {"not_in_0_1", &FunctionResult::not_in_unit},
    {"special_wrong", &FunctionResult::special_wrong},
    {"nan", &FunctionResult::nan},
};
constexpr std::pair<const char*, std::int64_t FunctionResult::*> kCounts[] = {
    {"stride", &FunctionResult::stride},
    {"inputs", &FunctionResult::inputs},
    {"judged", &FunctionResult::judged},
    {"correctly_rounded", &FunctionResult::correct},
    {"subnormal_results", &FunctionResult::subnormal},
    {"special", &FunctionResult::special},
    {"outside_domain", &FunctionResult::outside},
    {"decided_by_mpfr", &FunctionResult::decided_by_mpfr},
    {"undecided", &FunctionResult::undecided},
    {"mean_count", &FunctionResult::mean_count},
};
constexpr std::pair<const char*, std::string FunctionResult::*> kTexts[] = {
    {"name", &FunctionResult::name},       {"dtype", &FunctionResult::dtype},
    {"backend", &FunctionResult::backend}, {"status", &FunctionResult::status},
    {"reason", &FunctionResult::reason},
};

}  // namespace

json to_json(const FunctionResult& r) {
  json j;
  for (const auto& [key, member] : kTexts) j[key] = r.*member;
  for (const auto& [key, member] : kCounts) j[key] = r.*member;
  for (const auto& [key, member] : kLargest) {
    const Largest& w = r.*member;
    j[key] = w.measured() ? json{{"value", number_json(w.value)}, {"argument", w.argument}, {"got", w.got}}
                          : json();
  }
  for (const auto& [key, member] : kViolations) {
    const Violation& v = r.*member;
    j[key] = json{{"count", v.count}};
    if (v.count > 0) j[key].update({{"argument", v.argument}, {"got", v.got}});
  }
  j["mean_signed_ulp"] = number_json(r.mean_signed);
  j["seconds"] = number_json(r.seconds);
  return j;
}

FunctionResult function_result_from_json(const json& j) {
  try {
    FunctionResult r;
    for (const auto& [key, member] : kTexts) r.*member = j.at(key).get<std::string>();
    for (const auto& [key, member] : kCounts) r.*member = j.at(key).get<std::int64_t>();
    for (const auto& [key, member] : kLargest)
      if (const json& w = j.at(key); !w.is_null())
        r.*member = {number_from(w.at("value")), w.at("argument").get<std::string>(),
                     w.at("got").get<std::string>()};
    for (const auto& [key, member] : kViolations) {
      const json& v = j.at(key);
      (r.*member).count = v.at("count").get<std::int64_t>();
      if ((r.*member).count > 0) {
        (r.*member).argument = v.at("argument").get<std::string>();
        (r.*member).got = v.at("got").get<std::string>();
      }
    }
    r.mean_signed = number_from(j.at("mean_signed_ulp"));
    r.seconds = number_from(j.at("seconds"));
    return r;
  } catch (const json::exception& e) {
    throw InputError(std::string("a function's result cannot be read: ") + e.what());
  }
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The fields of what the sweeps of functions, pairs and quotients found, under their names in JSON
// (reference/fields.hpp).
#pragma once

#include "accuracy/functions/function_result.hpp"
#include "accuracy/functions/pairs.hpp"
#include "accuracy/record_fields.hpp"
#include "reference/fields.hpp"

namespace assay {

/// A largest value of which there was none to measure is null.
template <class Largest>
class IfMeasured {
 public:
  explicit IfMeasured(Largest& v) : v_(v) {}
  void write(nlohmann::json& j) const {
    if (v_.measured()) j = fields_to_json(v_);
  }
  void read(const nlohmann::json& j) const {
    if (!j.is_null()) v_ = fields_from_json<FunctionResult::Largest>(j);
  }

 private:
  Largest& v_;
};

template <IsA<FunctionResult::Largest> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("value", r.value);
  visit("argument", r.argument);
  visit("got", r.got);
}

template <IsA<FunctionResult::Violation> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("count", r.count);
  visit.if_set("argument", r.argument);
  visit.if_set("got", r.got);
}

template <IsA<FunctionResult> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("name", r.name);
  visit("dtype", r.dtype);
  visit("backend", r.backend);
  visit("status", Word(r.status, kStatusNames));
  visit("reason", r.reason);
  visit("stride", r.stride);
  visit("inputs", r.inputs);
  visit("judged", r.judged);
  visit("correctly_rounded", r.correct);
  visit("subnormal_results", r.subnormal);
  visit("special", r.special);
  visit("outside_domain", r.outside);
  visit("decided_by_mpfr", r.decided_by_mpfr);
  visit("undecided", r.undecided);
  visit("max_ulp", IfMeasured(r.ulp));
  visit("max_subnormal", IfMeasured(r.tiny));
  visit("max_relative_u", IfMeasured(r.relative));
  visit("max_absolute", IfMeasured(r.absolute));
  visit("slope", IfMeasured(r.slope));
  visit("mean_signed_ulp", r.mean_signed);
  visit("mean_count", r.mean_count);
  visit("not_monotone", r.descent);
  visit("exp_0_not_1", r.not_one);
  visit("not_in_0_1", r.not_in_unit);
  visit("special_wrong", r.special_wrong);
  visit("nan", r.nan);
  visit("seconds", r.seconds);
}

template <IsA<PairResult> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("key", r.key);
  visit("status", Word(r.status, kStatusNames));
  visit("reason", r.reason);
  visit("stride", r.stride);
  visit("rows", r.rows);
  visit("outside_domain", r.outside);
  visit("special", r.special);
  visit("elements", r.elements);
  visit("correctly_rounded", r.correct);
  visit("full_check", r.full_check);
  visit("by_mpfr", r.by_mpfr);
  visit("failed", r.failed);
  visit("undecided", r.undecided);
  visit("max_ulp", r.ulp);
  visit("worst", r.worst);
  visit("seconds", r.seconds);
}

template <IsA<QuotientSweep> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("status", Word(r.status, kStatusNames));
  visit("reason", r.reason);
  visit("divisors", r.divisors);
  visit("wrong", r.wrong);
  visit("divisor", r.divisor);
  visit("numerator", r.numerator);
  visit("seconds", r.seconds);
}

}  // namespace assay

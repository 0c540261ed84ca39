// SPDX-License-Identifier: Apache-2.0
// The fields of what a report holds beside its records (reference/fields.hpp).
#pragma once

#include "reference/fields.hpp"
#include "reports/data/report_data.hpp"

namespace assay {

template <IsA<OracleSpeedRow> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("key", r.key);
  visit("tier", r.tier);
  visit("where", r.where);
  visit("rows", r.rows);
  visit("V", r.V);
  visit("elements_per_second", r.elements_per_second);
  visit("escalated", r.escalated);
  visit("failed", r.failed);
}

template <IsA<OracleSpeedData> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("family", r.family);
  visit("machine", r.machine);
  visit("rows", r.rows);
}

template <IsA<KeyInfo> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("key", r.key);
  visit("variant", r.variant);
  visit("dtype", r.dtype);
  visit("backend", r.backend);
  visit("op", r.op);
  visit.if_set("algorithm", r.algorithm);
  visit.if_set("exp", r.exp);
  visit.if_set("division", r.division);
  visit.if_set("internals", r.internals);
  visit.if_set("accesses", r.accesses);
  visit.if_set("policy", r.policy);
  visit.if_set("determinism", r.determinism);
  visit.if_set("not_run", r.not_run);
  visit.if_set("claimed", r.claimed);
}

template <IsA<FamilyInfo> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("name", r.name);
  visit("why", r.why);
}

/// A list of six numbers, because there are many bins: from, to, count, max_ulp, bound_ulp, mean_ulp.
template <class Bins>
class BinList {
 public:
  explicit BinList(Bins& v) : v_(v) {}
  void write(nlohmann::json& j) const {
    j = nlohmann::json::array();
    for (const Profile::Bin& b : v_) {
      nlohmann::json& one = j.emplace_back(nlohmann::json::array());
      one.push_back(number_to_json(b.distance_lo));
      one.push_back(number_to_json(b.distance_hi));
      one.push_back(b.count);
      for (const double v : {b.max_ulp, b.bound_ulp, b.mean_ulp}) one.push_back(number_to_json(v));
    }
  }
  void read(const nlohmann::json& j) const {
    v_.clear();
    for (const nlohmann::json& one : j) {
      Profile::Bin& b = v_.emplace_back();
      b.distance_lo = number_from_json(one.at(0)), b.distance_hi = number_from_json(one.at(1));
      b.count = whole_from_json<std::int64_t>(one.at(2));
      b.max_ulp = number_from_json(one.at(3)), b.bound_ulp = number_from_json(one.at(4));
      b.mean_ulp = number_from_json(one.at(5));
    }
  }

 private:
  Bins& v_;
};

template <IsA<Profile> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("key", r.key);
  visit("variant", r.variant);
  visit("dtype", r.dtype);
  visit("backend", r.backend);
  visit("family", r.family);
  visit("V", r.V);
  visit("bins", BinList(r.bins));
  visit("signed_limit", r.signed_limit);
  visit("signed_counts", r.signed_counts);
  visit("below", r.below);
  visit("above", r.above);
}

namespace conformance {

/// As name(Axis::State) says them: contract.json has the same.
inline constexpr const char* kAxisStates[] = {"holds",        "declared",  "found, not declared",
                                              "not promised", "not tried", "wrong"};

template <IsA<Axis> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("name", r.name);
  visit("state", Word(r.state, kAxisStates));
  visit("within", r.within);
  visit("outside", r.outside);
}

template <IsA<Contract> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("axes", r.axes);
  visit("found", r.found);
  visit("outside", r.outside);
  visit.if_set("required", r.required);
  visit.if_set("uncovered", r.uncovered);
  visit.if_set("own", r.own);
}

}  // namespace conformance
}  // namespace assay

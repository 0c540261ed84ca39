// SPDX-License-Identifier: Apache-2.0
// The fields of a record under their names in JSON, once for what writes, reads and tests them
// (reference/fields.hpp). A new field is a member of record.hpp and a line here. A new figure of the errors
// of elements is a row of figures.hpp instead.
#pragma once

#include <array>
#include <string>

#include "accuracy/record.hpp"
#include "kernels/fault_kind.hpp"
#include "reference/fields.hpp"
#include "reference/problem.hpp"

namespace assay {

inline constexpr std::array kStatusNames = {"pass",    "fail",    "inconclusive", "unsupported",
                                            "not_run", "crashed", "hung"};
inline constexpr std::array kCheckNames = {
    "launch",   "guard",    "inputs",   "written",   "special",    "element",  "coherence",
    "row_sum",  "monotone", "range",    "argmax",    "normalizer", "indices",  "order",
    "gather",   "kept",     "repeat",   "claim",     "late_write", "max_ulp",  "batch",
    "property", "race",     "memcheck", "racecheck", "initcheck",  "synccheck"};
static_assert(kCheckNames.size() == kChecks);
inline constexpr std::array kWhyNames = {"none",      "coarse",   "domain",   "op",     "dtype",
                                         "k",         "in place", "memory",   "time",   "not tried",
                                         "probe",     "executor", "launcher", "stream", "sanitize",
                                         "initcheck", "races",    "refused",  "device", "left"};
inline constexpr std::array kUnpromisedNames = {"not_tried", "came_back", "fault"};
inline constexpr std::array kAloneNames = {"not_tried", "passes", "fails"};
inline constexpr std::array kWhereNames = {"in_process", "sandbox", "not_sandboxed", "landlock"};
inline constexpr std::array kNearestNames = {"not_looked_for", "its_own", "other_class", "none",
                                             "beyond_measured"};

/// A record's checks are an object: the name of each leads to the rest of it.
template <class Checks>
class ByName {
 public:
  explicit ByName(Checks& v) : v_(v) {}
  void write(nlohmann::json& j) const {
    j = nlohmann::json::object();
    for (const CheckResult& c : v_) fields::write(j[name(c.check)], c);
  }
  void read(const nlohmann::json& j) const {
    const FieldReader field{j};
    v_.clear();
    for (const auto& [word, rest] : j.items()) {
      Check check;
      Word(check, kCheckNames).read(word);
      CheckResult& c = v_.emplace_back();
      field(word.c_str(), c);
      c.check = check;
    }
  }
  nlohmann::json schema() const {
    return {{"type", "object"},
            {"propertyNames", {{"enum", kCheckNames}}},
            {"additionalProperties", fields::schema_of(CheckResult{})}};
  }

 private:
  Checks& v_;
};

template <IsA<BufferAccess> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("read", r.read);
  visit("logits", r.logits);
  visit("byte", r.byte);
  visit("size", r.size);
}

template <IsA<ProbeResult> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("probe", r.probe);
  visit.if_set("trait", r.trait);
  visit.if_set("sharper", r.sharper);
  visit.if_set("refuted", r.refuted);
  visit.if_set("sum", r.sum);
  visit.if_set("saw", r.saw);
}

template <IsA<CheckResult> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("judged", r.judged);
  visit("failed", r.failed);
  visit("utilisation", r.utilisation);
  visit.if_set("undecided", r.undecided);
  visit.if_set("detail", r.detail);
  visit.if_set("cause", Word(r.cause, kFaultKindNames));
  visit.if_set("access", r.access);
  visit.if_set("row", r.row);
  visit.if_set("of_measurement", r.of_measurement);
}

template <IsA<WorstElement> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("row", r.row);
  visit("column", r.column);
  visit("logit", r.logit);
  visit("distance", r.distance);
  visit("got", r.got);
  visit("exact", FieldPair(r.exact_lo, r.exact_hi));
  visit("ulp_error", r.ulp_error);
  visit("bound_ratio", r.bound_ratio);
}

template <IsA<SweptLengths> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("cases", r.cases);
  visit("rows_judged", r.rows_judged);
  visit("lengths", r.lengths);
  visit("sha256", r.sha256);
}

template <IsA<Record> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("key", r.key);
  visit("variant", r.variant);
  visit("dtype", r.dtype);
  visit("backend", r.backend);
  visit.if_set("where", Word(r.where, kWhereNames));
  visit("op", r.op);
  visit("family", r.family);
  visit.if_set("group", r.group);
  visit.if_set("setup", SetupField(r.setup));
  each_number(r, r.op, visit);
  visit("seed", r.seed);
  visit("status", Word(r.status, kStatusNames));
  visit.if_set("why", Word(r.why, kWhyNames));
  visit("reason", r.reason);
  visit.if_set("wants", Word(r.wants, kFaultKindNames));
  for (const Figure& f : kFigures) visit.newer(f.name, r.*f.value);
  visit("max_bound_ratio", r.max_bound_ratio);
  visit("weak_share", r.weak_share);
  visit.if_set("resolution", r.resolution);
  visit.if_set("resolution_sum", r.resolution_sum);
  visit("rows_judged", r.rows_judged);
  visit("rows_outside", r.rows_outside);
  visit.if_set("open", r.open);
  visit.if_set("escalated", r.escalated);
  // For the words about failing cases of assay check, whose records have a group.
  if (!r.group.empty()) visit.if_set("maxima", FieldPair(r.lowest_maximum, r.highest_maximum));
  visit.if_set("unpromised", Word(r.unpromised, kUnpromisedNames));
  visit("returned", r.returned);
  visit.newer("behaves_like", r.behaves_like);
  visit.if_set("nearest", Word(r.nearest, kNearestNames));
  visit.if_set("left_out", r.left_out);
  visit.if_set("alone", Word(r.alone, kAloneNames));
  visit.if_set("at_first", r.at_first);
  visit.if_set("evidence", r.evidence);
  visit.if_set("probes", r.probes);
  visit("checks", ByName(r.checks));
  visit("worst", r.worst);
  visit.if_set("swept", r.swept);
  visit("reproduce", r.reproduce);
  visit.newer("facts", r.facts);
}

// The numbers of a case's shape as fields: the list of the op's row, under its names.

/// Visits the numbers of a shape. What is read must know its op by then. Of what is no op, and so in a
/// schema, a number that only some ops have is optional.
template <class S, class Visit>
void each_number(S& shape, const std::string& op, Visit& visit) {
  const bool known = parse_op(op).has_value();
  each_size(sizes_of(op), shape, [&](const SizeInfo& s, auto& n) {
    if (s.part == SizePart::threshold || !(s.in_use || known))
      visit.newer(s.name, n);
    else
      visit(s.name, n);
  });
  if (!known) visit.if_set(kKeptSizes[2].name, shape.threshold);
}

/// " k=5", " threshold=0.9": what the op takes of a row, as it stands in the name of a configuration.
inline std::string named_pick(const std::string& op, const CaseShape& shape) {
  std::string s;
  each_size(sizes_of(op), shape, [&](const SizeInfo& size, auto n) {
    if (!of_inputs(size) && n != 0) s += std::string(" ") + size.name + "=" + text_of_number(n);
  });
  return s;
}

/// For files from before a threshold was a field of its own: takes it from `k`.
inline void read_old_threshold(const nlohmann::json& j, const std::string& op, CaseShape& shape) {
  const std::optional<Op> known = parse_op(op);
  if (!known || !keeps_a_set(*known) || j.contains("threshold")) return;
  int k = 0;
  FieldReader{j}("k", k);
  shape.threshold = of_old_k(*known, k).threshold;
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The fields of a certificate under their names in JSON, once for what writes, reads and describes them
// (reference/fields.hpp).
#pragma once

#include <array>

#include "accuracy/record_fields.hpp"
#include "reports/adopt/certificate.hpp"
#include "reports/sweep/data/record.hpp"

namespace assay {

/// The words that a certificate has for a Status, of a step and of a check.
inline constexpr std::array kStepWords = {"passed", "failed", "undecided", kNoWord, "not_run"};
inline constexpr std::array kCheckWords = {"pass", "fail", "undecided"};

template <IsA<CertifiedFile> C, class Visit>
void each_field(C& c, Visit& visit) {
  visit("role", c.role);
  visit("path", c.path);
  visit("sha256", c.sha256);
}

template <IsA<CertifiedTarget> C, class Visit>
void each_field(C& c, Visit& visit) {
  visit("word", c.word);
  visit.if_set("entry", c.entry);
  visit.if_set("args", c.args);
  visit.if_set("host", c.host);
  visit.if_set("nvcc_flags", c.nvcc_flags);
  visit.if_set("declare", c.declare);
  visit.if_set("name", c.name);
  visit.if_set("op", c.op);
  visit.if_set("types", c.types);
  visit.if_set("python", c.python);
  visit("timeout", c.timeout_seconds);
}

template <IsA<CertifiedAxis> C, class Visit>
void each_field(C& c, Visit& visit) {
  visit("axis", c.axis);
  visit("state", c.state);
  visit("within", c.within);
  visit("outside", c.outside);
}

template <IsA<CertifiedCheck> C, class Visit>
void each_field(C& c, Visit& visit) {
  visit("name", c.name);
  visit("verdict", Word(c.verdict, kCheckWords));
  visit("judged", c.judged);
  visit("failed", c.failed);
  visit("undecided", c.undecided);
  visit("utilisation", c.utilisation);
  visit("resolution", c.resolution);
}

template <class C, class Visit>
void fields_of_kernel(C& c, Visit& visit) {
  visit("key", c.key);
  visit("op", c.op);
  visit("claim", c.claim);
  visit.if_set("description_sha256", c.description_sha256);
  visit("made_by", c.made_by);
  visit("on_host", c.on_host);
}

template <IsA<AdoptedKernel> C, class Visit>
void each_field(C& c, Visit& visit) {
  fields_of_kernel(c, visit);
}

template <IsA<CertifiedKernel> C, class Visit>
void each_field(C& c, Visit& visit) {
  fields_of_kernel(c, visit);
  visit("where", c.where);
  visit("verdict", Word(c.verdict, kVerdictWords));
  visit("within", c.within);
  visit("undeclared", c.undeclared);
  visit("own_limits", c.own_limits);
  visit("required", c.required);
  visit("uncovered", c.uncovered);
  visit("outside", c.outside);
  visit("axes", c.axes);
  visit("planned", c.planned);
  visit("passed", c.passed);
  visit("failed", c.failed);
  visit("inconclusive", c.inconclusive);
  visit("unsupported", c.unsupported);
  visit("not_run", c.not_run);
  visit("too_coarse", c.too_coarse);
  visit.if_set("tried_again", c.tried_again);
  visit.if_set("at_first", c.at_first);
  visit("rows_judged", c.rows_judged);
  visit("core", c.core);
  visit("core_beyond", c.core_beyond);
  visit("lengths", c.lengths);
  visit("least_V", c.least_V);
  visit("most_V", c.most_V);
  visit("most_rows", c.most_rows);
  visit("max_ulp", c.max_ulp);
  visit("max_ulp_ordinary", c.max_ulp_ordinary);
  visit("max_bound_ratio", c.max_bound_ratio);
  visit("resolution", c.resolution);
  visit("resolution_sum", c.resolution_sum);
  visit("checks", c.checks);
}

template <IsA<CertifiedSpeed> C, class Visit>
void each_field(C& c, Visit& visit) {
  visit("key", c.key);
  each_number(c, "", visit);
  visit("verified", Word(c.verified, kVerifiedWords));
  visit("median_us", c.median_us);
  visit("gb_per_s", c.gb_per_s);
  visit("share_of_copy", c.share_of_copy);
  visit.newer("share_of_fastest", c.share_of_fastest);
}

template <IsA<CertifiedStep> C, class Visit>
void each_field(C& c, Visit& visit) {
  visit("name", c.name);
  visit("state", Word(c.state, kStepWords));
  visit("words", c.words);
  visit("planned", c.planned);
  visit("executed", c.executed);
  visit("seed", c.seed);
  visit("seconds", c.seconds);
  visit.if_set("command", c.command);
}

template <IsA<CertifiedCase> C, class Visit>
void each_field(C& c, Visit& visit) {
  visit("worst", c.worst);
  visit("key", c.key);
  visit("group", c.group);
  visit("setup", c.setup);
  visit("family", c.family);
  visit("op", c.op);
  each_number(c, c.op, visit);
  visit("seed", c.seed);
  visit("status", Word(c.status, kStatusNames));
  visit("check", c.check);
  visit("rows_judged", c.rows_judged);
  visit("max_ulp", c.max_ulp);
  visit("max_bound_ratio", c.max_bound_ratio);
  visit("resolution", c.resolution);
  visit("reproduce", c.reproduce);
}

template <IsA<CertifiedFact> C, class Visit>
void each_field(C& c, Visit& visit) {
  visit("label", c.label);
  visit("value", c.value);
}

template <IsA<CertifiedData> C, class Visit>
void each_field(C& c, Visit& visit) {
  visit("path", c.path);
  visit("sha256", c.sha256);
}

template <class C, class Visit>
void fields_of_call(C& c, Visit& visit) {
  visit("command", c.command);
  visit("made", c.made);
  visit("extent", c.extent);
  visit("only", c.only);
  visit("seed", c.seed);
  visit.if_set("seed_drawn", c.seed_drawn);
  visit("target", c.target);
  visit("files", c.files);
}

template <IsA<Certificate> C, class Visit>
void each_field(C& c, Visit& visit) {
  visit("version", c.version);
  visit("verdict", Word(c.verdict, kVerdictWords));
  visit("reason", c.reason);
  visit("exit_status", c.exit_status);
  fields_of_call(c, visit);
  visit("environment", c.environment);
  visit("steps", c.steps);
  visit("kernels", c.kernels);
  visit("speed", c.speed);
  visit("cases", c.cases);
  visit("data", c.data);
  visit("not_proved", c.not_proved);
}

}  // namespace assay

#include "accuracy/record.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "reference/error.hpp"

namespace assay {
namespace {

using nlohmann::json;

constexpr const char* kStatusNames[] = {"pass",    "fail",    "inconclusive", "unsupported",
                                        "not_run", "crashed", "hung"};

/// JSON has no infinity and no NaN: they travel as strings.
json number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}
double number(const json& j) {
  if (j.is_number()) return j.get<double>();
  const std::string s = j.get<std::string>();
  if (s == "inf") return INFINITY;
  if (s == "-inf") return -INFINITY;
  if (s == "nan") return NAN;
  throw InputError("'" + s + "' is not a number");
}
json number(const std::optional<double>& x) { return x ? number(*x) : json(nullptr); }
std::optional<double> optional_number(const json& j) {
  if (j.is_null()) return std::nullopt;
  return number(j);
}

}  // namespace

const char* name(Status s) { return kStatusNames[static_cast<int>(s)]; }

json to_json(const Record& r) {
  json checks = json::object();
  for (const CheckResult& c : r.checks) {
    json one = {{"judged", c.judged}, {"failed", c.failed}, {"utilisation", number(c.utilisation)}};
    if (c.undecided) one["undecided"] = c.undecided;
    if (!c.detail.empty()) one["detail"] = c.detail;
    checks[c.name] = std::move(one);
  }
  json worst = nullptr;
  if (r.worst) {
    const WorstElement& w = *r.worst;
    worst = {{"row", w.row},
             {"column", w.column},
             {"logit", number(w.logit)},
             {"distance", number(w.distance)},
             {"got", number(w.got)},
             {"exact", {number(w.exact_lo), number(w.exact_hi)}},
             {"ulp_error", number(w.ulp_error)},
             {"bound_ratio", number(w.bound_ratio)}};
  }
  json record = {{"key", r.key},
                 {"variant", r.variant},
                 {"dtype", r.dtype},
                 {"backend", r.backend},
                 {"op", r.op},
                 {"family", r.family},
                 {"rows", r.rows},
                 {"V", r.V},
                 {"k", r.k},
                 {"seed", r.seed},
                 {"status", name(r.status)},
                 {"reason", r.reason},
                 {"max_ulp", number(r.max_ulp)},
                 {"p99_ulp", number(r.p99_ulp)},
                 {"mean_ulp", number(r.mean_ulp)},
                 {"correctly_rounded", number(r.correctly_rounded)},
                 {"max_bound_ratio", number(r.max_bound_ratio)},
                 {"weak_share", number(r.weak_share)},
                 {"rows_judged", r.rows_judged},
                 {"rows_outside", r.rows_outside},
                 {"returned", r.returned},
                 {"behaves_like", r.behaves_like},
                 {"checks", std::move(checks)},
                 {"worst", std::move(worst)},
                 {"reproduce", r.reproduce}};
  if (!r.group.empty()) record["group"] = r.group;
  if (!r.setup.empty()) record["setup"] = r.setup;
  if (r.escalated > 0) record["escalated"] = r.escalated;
  if (r.resolution) record["resolution"] = number(*r.resolution);
  if (r.resolution_sum) record["resolution_sum"] = number(*r.resolution_sum);
  if (!r.evidence.empty()) record["evidence"] = r.evidence;
  return record;
}

Record record_from_json(const json& j) {
  Record r;
  const char* field = "record";
  const auto get = [&](const char* f) -> const json& {
    field = f;
    return j.at(f);
  };
  try {
    r.key = get("key").get<std::string>();
    r.variant = get("variant").get<std::string>();
    r.dtype = get("dtype").get<std::string>();
    r.backend = get("backend").get<std::string>();
    r.op = get("op").get<std::string>();
    r.family = get("family").get<std::string>();
    r.rows = get("rows").get<std::int64_t>();
    r.V = get("V").get<std::int64_t>();
    r.k = get("k").get<int>();
    r.seed = get("seed").get<std::uint64_t>();
    const std::string status = get("status").get<std::string>();
    bool known = false;
    for (int s = 0; s < 7; ++s)
      if (status == kStatusNames[s]) {
        r.status = static_cast<Status>(s);
        known = true;
      }
    if (!known) throw InputError("'" + status + "' is not a status");
    r.reason = get("reason").get<std::string>();
    r.max_ulp = optional_number(get("max_ulp"));
    r.p99_ulp = optional_number(get("p99_ulp"));
    r.mean_ulp = optional_number(get("mean_ulp"));
    r.correctly_rounded = optional_number(get("correctly_rounded"));
    r.max_bound_ratio = optional_number(get("max_bound_ratio"));
    r.weak_share = number(get("weak_share"));
    r.rows_judged = get("rows_judged").get<std::int64_t>();
    r.rows_outside = get("rows_outside").get<std::int64_t>();
    field = "escalated";
    r.escalated = j.value("escalated", std::int64_t{0});
    r.returned = get("returned").get<std::string>();
    field = "resolution";
    if (j.contains("resolution")) r.resolution = number(j.at("resolution"));
    field = "resolution_sum";
    if (j.contains("resolution_sum")) r.resolution_sum = number(j.at("resolution_sum"));
    field = "group";
    r.group = j.value("group", "");
    field = "setup";
    r.setup = j.value("setup", "");
    field = "behaves_like";
    r.behaves_like = j.value("behaves_like", "");
    r.evidence = j.value("evidence", std::vector<std::string>{});
    r.reproduce = get("reproduce").get<std::string>();
    for (const auto& [check, c] : get("checks").items()) {
      CheckResult one;
      one.name = check;
      one.judged = c.at("judged").get<std::int64_t>();
      one.failed = c.at("failed").get<std::int64_t>();
      one.utilisation = number(c.at("utilisation"));
      one.undecided = c.value("undecided", std::int64_t{0});
      one.detail = c.value("detail", "");
      r.checks.push_back(std::move(one));
    }
    if (const json& w = get("worst"); !w.is_null()) {
      WorstElement e;
      e.row = w.at("row").get<std::int64_t>();
      e.column = w.at("column").get<std::int64_t>();
      e.logit = number(w.at("logit"));
      e.distance = number(w.at("distance"));
      e.got = number(w.at("got"));
      e.exact_lo = number(w.at("exact").at(0));
      e.exact_hi = number(w.at("exact").at(1));
      e.ulp_error = number(w.at("ulp_error"));
      e.bound_ratio = number(w.at("bound_ratio"));
      r.worst = e;
    }
  } catch (const json::exception& e) {
    throw InputError(std::string("record field '") + field + "': " + e.what());
  }
  return r;
}

}  // namespace assay

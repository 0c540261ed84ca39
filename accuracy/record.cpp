#include "accuracy/record.hpp"

#include <array>
#include <cmath>
#include <iterator>
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

constexpr std::array kCheckNames = {"launch",    "guard",    "inputs",   "written", "special",  "element",
                                    "coherence", "row_sum",  "monotone", "range",   "argmax",   "normalizer",
                                    "indices",   "order",    "gather",   "repeat",  "claim",    "late_write",
                                    "max_ulp",   "batch",    "property", "race",    "memcheck", "racecheck",
                                    "initcheck", "synccheck"};
static_assert(kCheckNames.size() == kChecks);
constexpr std::array kAloneNames = {"not_tried", "passes", "fails"};
constexpr std::array kNearestNames = {"not_looked_for", "its_own", "other_class", "none", "beyond_measured"};

/// The position of a name in a list. Throws InputError.
template <class List>
int position(const List& list, const std::string& word, const char* of) {
  for (std::size_t i = 0; i < std::size(list); ++i)
    if (word == list[i]) return static_cast<int>(i);
  throw InputError("'" + word + "' is no " + of);
}

/// Records from before these were fields said them in sentences.
void read_old_words(Record& r) {
  if (r.nearest == Nearest::not_looked_for && r.status == Status::fail && !r.behaves_like.empty())
    r.nearest = r.behaves_like.starts_with("would pass with ") ? Nearest::other_class
                : r.behaves_like.starts_with("its claim")      ? Nearest::its_own
                                                               : Nearest::none;
  std::erase_if(r.evidence, [&](const std::string& e) {
    const bool passes = e == "alone, in a fresh process, it passes";
    if (!passes && e != "alone, in a fresh process, it fails as well") return false;
    r.alone = passes ? Alone::passes : Alone::fails;
    return true;
  });
}

}  // namespace

const char* name(Check c) { return kCheckNames[static_cast<std::size_t>(c)]; }
std::optional<Check> parse_check(std::string_view s) {
  for (int i = 0; i < kChecks; ++i)
    if (s == kCheckNames[static_cast<std::size_t>(i)]) return static_cast<Check>(i);
  return {};
}

const CheckResult* find_check(const Record& r, Check check) {
  for (const CheckResult& c : r.checks)
    if (c.check == check) return &c;
  return nullptr;
}

const CheckResult* first_failed(const Record& r) {
  const CheckResult* first = nullptr;
  for (const CheckResult& c : r.checks)
    if (c.failed > 0 && (!first || c.check < first->check)) first = &c;
  return first;
}

FaultKind cause_of(const Record& r) {
  for (const CheckResult& c : r.checks)
    if (c.failed > 0 && c.cause != FaultKind::none) return c.cause;
  return FaultKind::none;
}

const char* name(Status s) { return kStatusNames[static_cast<int>(s)]; }

json to_json(const Record& r) {
  json checks = json::object();
  for (const CheckResult& c : r.checks) {
    json one = {{"judged", c.judged}, {"failed", c.failed}, {"utilisation", number(c.utilisation)}};
    if (c.undecided) one["undecided"] = c.undecided;
    if (!c.detail.empty()) one["detail"] = c.detail;
    if (c.cause != FaultKind::none) one["cause"] = name(c.cause);
    checks[name(c.check)] = std::move(one);
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
  if (!r.group.empty() && r.lowest_maximum)
    record["maxima"] = {number(r.lowest_maximum), number(r.highest_maximum)};
  if (r.escalated > 0) record["escalated"] = r.escalated;
  if (r.resolution) record["resolution"] = number(*r.resolution);
  if (r.resolution_sum) record["resolution_sum"] = number(*r.resolution_sum);
  if (r.nearest != Nearest::not_looked_for)
    record["nearest"] = kNearestNames[static_cast<std::size_t>(r.nearest)];
  if (r.alone != Alone::not_tried) record["alone"] = kAloneNames[static_cast<std::size_t>(r.alone)];
  if (!r.at_first.empty()) record["at_first"] = r.at_first;
  if (r.wants != FaultKind::none) record["wants"] = name(r.wants);
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
    r.status = static_cast<Status>(position(kStatusNames, get("status").get<std::string>(), "status"));
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
    if (field = "maxima"; j.contains(field)) {
      r.lowest_maximum = number(j.at(field).at(0));
      r.highest_maximum = number(j.at(field).at(1));
    }
    field = "behaves_like";
    r.behaves_like = j.value("behaves_like", "");
    r.at_first = j.value("at_first", std::string());
    r.evidence = j.value("evidence", std::vector<std::string>{});
    field = "wants";
    r.wants = static_cast<FaultKind>(position(kFaultKindNames, j.value("wants", "none"), "kind of fault"));
    field = "nearest";
    r.nearest =
        static_cast<Nearest>(position(kNearestNames, j.value("nearest", "not_looked_for"), "nearest class"));
    field = "alone";
    r.alone = static_cast<Alone>(position(kAloneNames, j.value("alone", "not_tried"), "answer"));
    r.reproduce = get("reproduce").get<std::string>();
    for (const auto& [check, c] : get("checks").items()) {
      CheckResult one;
      one.check = static_cast<Check>(position(kCheckNames, check, "check"));
      one.judged = c.at("judged").get<std::int64_t>();
      one.failed = c.at("failed").get<std::int64_t>();
      one.utilisation = number(c.at("utilisation"));
      one.undecided = c.value("undecided", std::int64_t{0});
      one.detail = c.value("detail", "");
      one.cause =
          static_cast<FaultKind>(position(kFaultKindNames, c.value("cause", "none"), "kind of fault"));
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
    read_old_words(r);
  } catch (const json::exception& e) {
    throw InputError(std::string("record field '") + field + "': " + e.what());
  }
  return r;
}

}  // namespace assay

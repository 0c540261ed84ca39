#include "accuracy/conformance/refused_lengths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "accuracy/behaves_like.hpp"
#include "accuracy/conformance/likely_cause.hpp"

namespace assay::conformance {
namespace {

constexpr const char* kReturned = "returned status";
/// Lengths that one rule must explain: any two have something in common.
constexpr std::size_t kLengths = 3;

const CheckResult* failed(const Record& r, const char* check) {
  for (const CheckResult& c : r.checks)
    if (c.name == check && c.failed > 0) return &c;
  return nullptr;
}

/// What the launcher returned; empty where it returned no error.
std::string error_of(const Record& r) {
  const CheckResult* const launch = r.status == Status::fail ? failed(r, "launch") : nullptr;
  return launch && launch->detail.find(kReturned) != std::string::npos ? launch->detail : std::string();
}

bool judged(const Record& r) {
  return r.status == Status::pass || r.status == Status::fail || r.status == Status::inconclusive ||
         r.status == Status::crashed || r.status == Status::hung;
}

}  // namespace

std::optional<Finding> refused_lengths(const std::vector<Record>& records) {
  std::set<std::int64_t> refused, taken;
  std::string error;
  for (const Record& r : records) {
    // The child of `races` says no more than that it ended.
    if (r.group.empty() || r.group == "races" || !judged(r) || r.V == 0 || r.rows == 0) continue;
    (error_of(r).empty() ? taken : refused).insert(r.V);
    if (error.empty()) error = error_of(r);
  }
  // A rule of two lengths is a guess.
  if (taken.size() < kLengths || refused.size() < kLengths) return {};

  std::int64_t multiple = 0;
  for (const std::int64_t V : taken) multiple = std::gcd(multiple, V);
  const std::int64_t most = *taken.rbegin();
  const auto explained = [&](std::int64_t V) { return V > 0 && (V > most || V % multiple != 0); };
  if (!std::all_of(refused.begin(), refused.end(), explained)) return {};
  const bool by_rest =
      std::any_of(refused.begin(), refused.end(), [&](std::int64_t V) { return V < most && V % multiple; });
  const bool by_length = std::any_of(refused.begin(), refused.end(),
                                     [&](std::int64_t V) { return V > most && V % multiple == 0; });
  if (!by_rest && !by_length) return {};

  Finding f;
  for (const Record& r : records) {
    if (r.group.empty() || r.status != Status::fail) continue;
    const CheckResult* const property = failed(r, "property");
    const bool child = r.group == "races" && failed(r, "launch") && explained(r.V);
    // Probes and properties draw lengths of their own.
    const bool own = r.V == 0 && ((r.family == kProbeFamily && error_of(r) == error) ||
                                  (property && property->detail.find(error) != std::string::npos));
    if ((!error_of(r).empty() && r.rows > 0 && explained(r.V)) || child || own) f.cases.push_back(&r);
  }
  std::stable_sort(f.cases.begin(), f.cases.end(), [](const Record* a, const Record* b) {
    return std::tuple(a->V == 0, a->V, a->rows, a->k) < std::tuple(b->V == 0, b->V, b->rows, b->k);
  });
  f.first = f.cases.front();
  f.group = f.first->group;
  f.checks = "launch";
  f.status = Status::fail;
  f.clarity = 2;
  f.detail = failed(*f.first, "launch")->detail;
  std::map<std::string, std::int64_t> groups;
  for (const Record* r : f.cases) ++groups[r->group];
  for (const Record& r : records) f.of += r.group == f.group && judged(r);
  for (const auto& [group, n] : groups)
    if (group == f.group)
      f.failed = n;
    else
      f.also.push_back(fmt::format("{} ({})", group, n));
  const std::string rest = fmt::format("every V that is no multiple of {}", multiple),
                    length = fmt::format("every V above {}", most);
  const std::string words = by_rest && by_length ? rest + ", and " + length : by_rest ? rest : length;
  f.where = fmt::format("{} (first: V = {})", words, f.first->V);
  f.likely = fmt::format("the launcher refuses {}: declare {}{}{}", words,
                         by_rest ? fmt::format("V_multiple={}", multiple) : "",
                         by_rest && by_length ? "; " : "", by_length ? fmt::format("max_V={}", most) : "");
  f.rule = [explained](const Record& r) { return explained(r.V); };
  return f;
}

}  // namespace assay::conformance

// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/diagnosis/refused_lengths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "accuracy/verdict/behaves_like.hpp"

namespace assay::conformance {
namespace {

/// The fewest lengths that a rule must explain: any two lengths have something in common.
constexpr std::size_t kFewestLengths = 3;

/// True if the launcher, or the machine, refused before anything ran.
bool is_refused(const Record& r) {
  const FaultKind cause = cause_of(r);
  return cause == FaultKind::returned_status || cause == FaultKind::threw || cause == FaultKind::bad_launch;
}

/// True if the record does not name the lengths of all its rows: a probe, a property, or a sequence of calls
/// that is refused whatever came before.
bool draws_lengths(const Record& r) {
  return r.family == kProbeFamily || find_check(r, Check::property) ||
         (r.group == "calls" && r.alone != Alone::passes);
}

bool judged(const Record& r) {
  return r.status == Status::pass || r.status == Status::fail || r.status == Status::inconclusive ||
         r.status == Status::crashed || r.status == Status::hung;
}

}  // namespace

std::optional<Finding> refused_lengths(const std::vector<Record>& records) {
  std::set<std::int64_t> refused, taken;
  for (const Record& r : records) {
    // The child process of `races` reports only that it ended.
    if (r.group.empty() || r.group == "races" || !judged(r) || draws_lengths(r)) continue;
    if (r.V == 0 || r.rows == 0) continue;
    (is_refused(r) ? refused : taken).insert(r.V);
  }
  // A rule from two lengths is a guess.
  if (taken.size() < kFewestLengths || refused.size() < kFewestLengths) return {};

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
    const CheckResult* const check = first_failed(r);
    const bool child = r.group == "races" && check && check->check == Check::launch && explained(r.V);
    const bool own = is_refused(r) && draws_lengths(r);
    if ((is_refused(r) && r.rows > 0 && explained(r.V)) || child || own) f.cases.push_back(&r);
  }
  std::stable_sort(f.cases.begin(), f.cases.end(), [](const Record* a, const Record* b) {
    return std::tuple(a->V == 0, a->V, a->rows, a->k) < std::tuple(b->V == 0, b->V, b->rows, b->k);
  });
  f.first = f.cases.front();
  f.group = f.first->group;
  f.checks = "launch";
  f.status = Status::fail;
  f.failed_checks = {Check::launch};
  f.exact = true;
  f.detail = first_failed(*f.first)->detail;
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
  return f;
}

}  // namespace assay::conformance

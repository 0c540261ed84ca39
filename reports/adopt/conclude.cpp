// SPDX-License-Identifier: Apache-2.0
#include "reports/adopt/conclude.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "accuracy/record_fields.hpp"
#include "accuracy/status.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/candidate.hpp"
#include "reports/data/conformance_text.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/html.hpp"
#include "reports/data/key_conformance.hpp"
#include "reports/data/summary.hpp"
#include "reports/data/tally.hpp"
#include "reports/sweep/data/record.hpp"
#include "reports/targets/candidates.hpp"

namespace assay {
namespace {

/// Of these groups one case alone gives the record that it gives among all others. `streams` is left out: it
/// waits for other launches. `big` takes minutes.
constexpr std::array<std::string_view, 9> kReplayed = {"families", "shapes", "operands", "rows",     "layout",
                                                       "repeat",   "calls",  "batch",    "schedules"};
constexpr std::int64_t kMostElementsReplayed = std::int64_t{1} << 22;
/// Of one kernel: cases that failed, and those with the largest error by each of two measures.
constexpr std::size_t kMostFailed = 6, kMostOfMeasure = 3;
constexpr std::size_t kCasesOfAll = 48, kFewestOthers = 8;

bool can_be_replayed(const Record& r) {
  return (r.status == Status::pass || is_wrong(r.status)) && may_be_replayed(r.group, r.rows, r.V);
}

CertifiedCase case_of(const Record& r, bool worst) {
  CertifiedCase c;
  c.worst = worst;
  c.key = r.key;
  c.group = r.group;
  c.setup = r.setup.text();
  c.family = r.family;
  c.op = r.op;
  static_cast<CaseShape&>(c) = r;
  c.seed = r.seed;
  c.status = r.status;
  if (const CheckResult* const failed = first_failed(r)) c.check = name(failed->check);
  c.rows_judged = r.rows_judged;
  c.max_ulp = r.max_ulp;
  c.max_bound_ratio = r.max_bound_ratio;
  c.resolution = r.resolution;
  c.reproduce = r.reproduce;
  return c;
}

void take_largest(std::optional<double>& largest, const std::optional<double>& v) {
  if (v && (!largest || !(*v <= *largest))) largest = v;
}

std::optional<double> resolution_of_check(Check check, const CertifiedKernel& k) {
  if (check == Check::element) return k.resolution;
  if (check == Check::row_sum) return k.resolution_sum;
  return {};
}

/// The indices of the `most` records with the largest figure.
std::vector<std::size_t> largest_of(const std::vector<const Record*>& records,
                                    std::optional<double> Record::*figure, std::size_t most) {
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < records.size(); ++i)
    if (records[i]->status == Status::pass && records[i]->*figure && std::isfinite(*(records[i]->*figure)))
      at.push_back(i);
  std::stable_sort(at.begin(), at.end(), [&](std::size_t a, std::size_t b) {
    return *(records[a]->*figure) > *(records[b]->*figure);
  });
  at.resize(std::min(at.size(), most));
  return at;
}

/// What a step counts.
const char* counted_by(const std::string& step) {
  return step == "check"       ? "cases"
         : step == "fuzz"      ? "inputs"
         : step == "functions" ? "functions"
                               : "configurations";
}

}  // namespace

bool may_be_replayed(const std::string& group, std::int64_t rows, std::int64_t V) {
  return std::find(kReplayed.begin(), kReplayed.end(), group) != kReplayed.end() &&
         (V == 0 || rows <= kMostElementsReplayed / V);
}

bool little_of_core(const CertifiedKernel& k) { return !k.within.empty() && 2 * k.core_beyond > k.core; }

Verdict verdict_of_kernel(const CertifiedKernel& k) {
  return k.failed > 0              ? Verdict::fail
         : k.inconclusive > 0      ? Verdict::inconclusive
         : k.passed < 1            ? Verdict::not_run
         : k.too_coarse > k.passed ? Verdict::judged_in_part
         : little_of_core(k)       ? Verdict::judged_in_part
                                   : Verdict::pass;
}

AdoptedKernel described(const Variant& v) {
  return {v.key(), name(v.op),   claimed_class(v), v.launcher ? v.launcher->description_sha256() : "",
          v.file,  !on_device(v)};
}

CertifiedKernel certified_kernel(const AdoptedKernel& adopted, const ReportData& data) {
  CertifiedKernel k;
  static_cast<AdoptedKernel&>(k) = adopted;
  std::array<CheckResult, kChecks> checks{};
  JudgedCounts judged;
  for (const Record& r : data.records) {
    if (r.key != k.key) continue;
    require_sane(r);
    judged.take(r);
    ++k.planned;
    k.passed += r.status == Status::pass;
    k.failed += is_wrong(r.status);
    k.inconclusive += r.status == Status::inconclusive;
    k.unsupported += r.status == Status::unsupported;
    k.too_coarse += too_coarse(r);
    k.not_run += r.status == Status::not_run;
    if (passed_only_again(r) && k.tried_again++ == 0) k.at_first = shorten(r.at_first, 160);
    if (k.where.empty() && r.rows_judged > 0) k.where = kWhereNames[static_cast<std::size_t>(r.where)];
    if (!was_judged(r) && !too_coarse(r)) continue;
    // If arithmetic is too coarse for a verdict, its errors are known nevertheless.
    take_largest(k.max_ulp, r.max_ulp);
    // As in the report: only the group `families` draws rows as they are in use.
    if ((r.group.empty() || r.group == "families") && is_ordinary_family(r.family))
      take_largest(k.max_ulp_ordinary, r.max_ulp);
    if (!was_judged(r)) continue;
    take_largest(k.max_bound_ratio, r.max_bound_ratio);
    if (has_resolution(r)) {
      take_largest(k.resolution, r.resolution);
      take_largest(k.resolution_sum, r.resolution_sum);
    }
    for (const CheckResult& c : r.checks) {
      CheckResult& all = checks[static_cast<std::size_t>(c.check)];
      all.judged += c.judged;
      all.failed += c.failed;
      all.undecided += c.undecided;
      if (!(c.utilisation <= all.utilisation)) all.utilisation = c.utilisation;
    }
  }
  k.rows_judged = judged.rows;
  k.core = judged.core, k.core_beyond = judged.core_beyond;
  k.lengths = std::ssize(judged.lengths), k.most_rows = judged.most_rows;
  if (!judged.lengths.empty()) k.least_V = *judged.lengths.begin(), k.most_V = *judged.lengths.rbegin();
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const CheckResult& c = checks[i];
    if (c.judged == 0 && c.failed == 0 && c.undecided == 0) continue;
    const auto check = static_cast<Check>(i);
    k.checks.push_back({name(check),
                        c.failed > 0      ? Status::fail
                        : c.undecided > 0 ? Status::inconclusive
                                          : Status::pass,
                        c.judged, c.failed, c.undecided, c.utilisation, resolution_of_check(check, k)});
  }
  if (const auto at = data.contracts.find(k.key); at != data.contracts.end()) {
    k.within = at->second.within();
    k.undeclared = at->second.found;
    k.own_limits = at->second.own;
    k.required = at->second.required;
    k.uncovered = at->second.uncovered;
    k.outside = at->second.outside;
    for (const conformance::Axis& a : at->second.axes)
      k.axes.push_back({a.name, name(a.state), a.within, a.outside});
  }
  k.verdict = verdict_of_kernel(k);
  return k;
}

std::vector<CertifiedCase> cases_to_replay(const std::vector<Record>& records) {
  std::vector<std::string> keys;
  std::map<std::string, std::vector<const Record*>> by_key;
  for (const Record& r : records) {
    if (!can_be_replayed(r)) continue;
    if (!by_key.contains(r.key)) keys.push_back(r.key);
    by_key[r.key].push_back(&r);
  }
  std::vector<CertifiedCase> worst, others;
  for (const std::string& key : keys) {
    const std::vector<const Record*>& all = by_key[key];
    std::set<std::size_t> taken;
    for (std::size_t i = 0; i < all.size() && taken.size() < kMostFailed; ++i)
      if (is_wrong(all[i]->status)) taken.insert(i);
    for (const auto figure :
         {&Record::max_bound_ratio, static_cast<std::optional<double> Record::*>(&Record::max_ulp)})
      for (const std::size_t i : largest_of(all, figure, kMostOfMeasure)) taken.insert(i);
    for (const std::size_t i : taken) worst.push_back(case_of(*all[i], true));
    const std::size_t quota = std::max(kFewestOthers, kCasesOfAll / keys.size());
    std::vector<std::size_t> rest;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!taken.contains(i)) rest.push_back(i);
    const std::size_t n = std::min(quota, rest.size());
    for (std::size_t j = 0; j < n; ++j) others.push_back(case_of(*all[rest[j * rest.size() / n]], false));
  }
  worst.insert(worst.end(), others.begin(), others.end());
  return worst;
}

CertifiedStep check_step(const ReportData& data, std::uint64_t seed) {
  CertifiedStep s{.name = "check"};
  s.planned = data.planned;
  s.executed = data.executed;
  s.seed = seed;
  s.seconds = data.seconds;
  const Verdict verdict = verdict_of(data);
  s.state = verdict == Verdict::pass || verdict == Verdict::judged_in_part ? Status::pass
            : verdict == Verdict::fail                                     ? Status::fail
            : verdict == Verdict::inconclusive                             ? Status::inconclusive
                                                                           : Status::not_run;
  s.words = fmt::format("{}: {}", name(verdict), verdict_reason(data));
  for (const Record& r : data.records)
    if (is_wrong(r.status) || (s.command.empty() && r.status == Status::inconclusive)) {
      s.command = r.reproduce;
      if (is_wrong(r.status)) break;
    }
  return s;
}

std::vector<std::string> open_after_check(const Certificate& c, const ReportData& data) {
  std::vector<std::string> open;
  if (!c.only.empty()) {
    std::string groups;
    for (const std::string& g : c.only) groups += (groups.empty() ? "" : ", ") + g;
    open.push_back("only these groups of the check ran: " + groups);
  }
  if (!c.seed_drawn)
    open.emplace_back(
        "inputs that nobody knew before: the seed was chosen (--seed), not drawn when the kernel was fixed");
  if (c.extent == "quick") open.push_back("the check was quick: " + lengths_tried(data.records));
  for (const GroupTally& g : tally_groups(data.records))
    if (g[Status::pass] == 0 && g[Status::unsupported] > 0 && g.bad() == 0)
      open.push_back(fmt::format("group {}: {}", g.group, g.unsupported_reason));
  for (const CertifiedKernel& k : c.kernels) {
    if (k.on_host && k.passed > 0) open.push_back(k.key + ": ran on the CPU, so nothing is shown for a GPU");
    if (k.not_run > 0)
      open.push_back(fmt::format("{}: {} cases of the check did not run", k.key, grouped(k.not_run)));
    if (k.too_coarse > 0)
      open.push_back(fmt::format(
          "{}: {} of {} cases of the check were not judged: the arithmetic that it claims is so coarse that "
          "nearly any output would pass",
          k.key, grouped(k.too_coarse), grouped(k.planned)));
    if (k.tried_again > 0)
      open.push_back(
          fmt::format("{}: {} cases passed only when tried again, in a fresh process (at first: {})", k.key,
                      grouped(k.tried_again), k.at_first));
    if (!k.undeclared.empty())
      open.push_back(fmt::format("{}: nothing outside the limits that were found and nobody declared: {}",
                                 k.key, k.undeclared));
    if (!k.own_limits.empty())
      open.push_back(
          fmt::format("{}: nothing outside the limits that its own file declares: {}", k.key, k.own_limits));
    for (const std::string& why : k.uncovered)
      open.push_back(fmt::format("{}: not all that is required ({}): {}", k.key, k.required, why));
    if (little_of_core(k))
      open.push_back(fmt::format("{}: {} of {} cases that every caller relies on are beyond its limits",
                                 k.key, grouped(k.core_beyond), grouped(k.core)));
    if (k.rows_judged > 0 && k.failed == 0 && k.inconclusive == 0)
      open.push_back(fmt::format("{}: {}", k.key, rows_line(k.rows_judged)));
  }
  if (const std::string why = not_sandboxed(data.environment); !why.empty())
    open.push_back("what the kernel does besides its outputs: not sandboxed: " + why);
  return open;
}

std::string impossible_figure(const Certificate& c) {
  for (const CertifiedCase& one : c.cases)
    if (one.status == Status::pass && beyond_bound(one.max_bound_ratio))
      return fmt::format("check: {}: a case passed, and its share of a bound is {}: {}", one.key,
                         *one.max_bound_ratio, one.reproduce);
  for (const CertifiedSpeed& s : c.speed) {
    std::optional<double> share = s.share_of_fastest;
    const auto k = std::ranges::find(c.kernels, s.key, &CertifiedKernel::key);
    // A kernel that writes little may be faster than a copy.
    if (!share && k != c.kernels.end())
      if (const auto op = parse_op(k->op); op && !selects(*op) && !one_value(*op)) share = s.share_of_copy;
    if (const std::string why = beyond_reach(share); !why.empty())
      return fmt::format("sweep: {}, {} rows, V = {}: {}", s.key, grouped(s.rows), grouped(s.V), why);
  }
  return {};
}

std::string failed_checks(const CertifiedKernel& k) {
  std::string words;
  for (const CertifiedCheck& one : k.checks)
    if (one.verdict == Status::fail)
      words += fmt::format("{}{} ({} of {} comparisons)", words.empty() ? "failed checks: " : ", ", one.name,
                           grouped(one.failed), grouped(one.judged));
  return words;
}

namespace {

/// What is missing where a step did not run, in plain words.
std::string missing_without(const CertifiedStep& s) {
  const std::string what = s.name == "sweep"       ? ": no speed was measured: "
                           : s.name == "functions" ? ": no function that it uses was tested: "
                           : s.name == "fuzz"      ? ": no input that breaks it was searched for: "
                                                   : ": did not run: ";
  return s.name + what + s.words;
}

}  // namespace

void conclude(Certificate& c, bool accept_limits) {
  const auto find = [&](Status state) {
    return std::find_if(c.steps.begin(), c.steps.end(),
                        [&](const CertifiedStep& s) { return s.state == state; });
  };
  const auto check =
      std::find_if(c.steps.begin(), c.steps.end(), [](const CertifiedStep& s) { return s.name == "check"; });
  std::int64_t passed = 0;
  bool limited = false, in_part = false;
  std::string uncovered;
  for (const CertifiedKernel& k : c.kernels) {
    passed += k.passed, limited = limited || !k.undeclared.empty() || !k.own_limits.empty();
    for (const std::string& why : k.uncovered)
      uncovered += (uncovered.empty() ? "" : "; ") + k.key + ": " + why;
    in_part = in_part || verdict_of_kernel(k) == Verdict::judged_in_part;
  }
  for (const CertifiedStep& s : c.steps)
    if (s.state == Status::not_run) c.not_proved.push_back(missing_without(s));
  if (is_python_callable(c.target.word))
    c.not_proved.emplace_back(
        "files: Python code may read some through another process, native code or a folder's descriptor; "
        "those "
        "are not listed");
  c.not_proved.emplace_back("other inputs than those that ran: a verdict is no proof for all inputs");
  c.not_proved.emplace_back(
      "what it does on another day, after more calls, in another program, or for a row that somebody has "
      "chosen: no run shows that");
  const auto end = [&](Verdict verdict, int status, const std::string& reason) {
    c.verdict = verdict;
    c.exit_status = status;
    c.reason = reason;
  };
  if (const auto bad = find(Status::fail); bad != c.steps.end()) {
    std::string words = bad->name + ": " + bad->words;
    if (bad == check)
      for (const CertifiedKernel& k : c.kernels)
        if (const std::string which = failed_checks(k); !which.empty())
          words += "; " + (c.kernels.size() > 1 ? k.key + ": " : "") + which;
    return end(Verdict::fail, 1, words);
  }
  if (const std::string why = impossible_figure(c); !why.empty()) return end(Verdict::fail, 1, why);
  if (check == c.steps.end() || check->state == Status::not_run)
    return end(Verdict::not_run, 3, check == c.steps.end() ? "check: did not run" : "check: " + check->words);
  if (const auto open = find(Status::inconclusive); open != c.steps.end())
    return end(Verdict::inconclusive, 1, open->name + ": " + open->words);
  if (check->executed < 1 || passed < 1) return end(Verdict::not_run, 3, "no case was judged");
  if (!uncovered.empty())
    return end(Verdict::not_covered, 1, "it does not take all that is required: " + uncovered);
  if (c.cases.empty())
    return end(Verdict::not_judged, 3,
               "no case can be replayed, so nobody could verify it: run more groups of the check");
  std::string words;
  for (const CertifiedStep& s : c.steps)
    if (s.state == Status::pass)
      words += fmt::format("{}{} ({} {})", words.empty() ? "" : ", ", s.name, grouped(s.executed),
                           counted_by(s.name));
  end(in_part ? Verdict::judged_in_part : Verdict::pass, (limited || in_part) && !accept_limits ? 4 : 0,
      words);
}

}  // namespace assay

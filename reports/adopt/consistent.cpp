// SPDX-License-Identifier: Apache-2.0
#include "reports/adopt/consistent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "accuracy/sane.hpp"
#include "reports/adopt/conclude.hpp"
#include "reports/adopt/follows.hpp"
#include "reports/adopt/replay.hpp"
#include "reports/data/html.hpp"
#include "reports/data/summary.hpp"
#include "reports/data/tally.hpp"

namespace assay {
namespace {

/// The steps, and what each writes.
const std::map<std::string, std::string> kDataOfStep = {{"check", "check/records.jsonl"},
                                                        {"fuzz", "fuzz/records.jsonl"},
                                                        {"functions", "functions/functions.json"},
                                                        {"sweep", "sweep/sweep.jsonl"}};

const CertifiedStep* find_step(const Certificate& c, const std::string& name) {
  const auto at = std::ranges::find(c.steps, name, &CertifiedStep::name);
  return at == c.steps.end() ? nullptr : &*at;
}

/// The whole numbers of a text, in its order: "check (1,752 cases), fuzz (64 inputs)" has 1752 and 64. The
/// words between them may differ between versions of this program.
std::vector<std::string> numbers_in(const std::string& text) {
  const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  std::vector<std::string> all;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!digit(i)) continue;
    std::string one;
    for (; digit(i) || (i < text.size() && text[i] == ',' && digit(i + 1)); ++i)
      if (text[i] != ',') one += text[i];
    all.push_back(std::move(one));
  }
  return all;
}

/// "max_ulp is 0.5, and its case ... has 77.18": a kernel's figure is the largest of all its cases.
void no_smaller(std::vector<std::string>& found, const CertifiedKernel& k, const char* figure,
                const std::optional<double>& of_all, const std::optional<double>& of_one,
                const std::string& what) {
  if (!of_one || std::isnan(*of_one) || (of_all && !(*of_all < *of_one))) return;  // NaN: not comparable
  found.push_back(
      fmt::format("{}: its {} is {}, and {} has {}", k.key, figure, figure_text(of_all), what, *of_one));
}

bool is_bad(const std::string& status) {
  return status == name(Status::fail) || status == name(Status::crashed) || status == name(Status::hung);
}

bool has_resolution(const CertifiedCase& c) {
  Record r;
  r.status = c.status == name(Status::pass) ? Status::pass : Status::fail;
  r.op = c.op;
  r.resolution = c.resolution;
  return has_resolution(r);
}

void check_cases(std::vector<std::string>& found, const Certificate& c, const CertifiedKernel& k) {
  std::int64_t passed = 0, failed = 0;
  const CertifiedCase *ulp = nullptr, *ordinary = nullptr, *ratio = nullptr, *resolution = nullptr;
  const auto take = [](const CertifiedCase*& largest, const CertifiedCase& one,
                       std::optional<double> CertifiedCase::*figure) {
    if (one.*figure && !std::isnan(*(one.*figure)) && (!largest || *(one.*figure) > *(largest->*figure)))
      largest = &one;
  };
  for (const CertifiedCase& one : c.cases) {
    if (one.key != k.key) continue;
    if (one.status == name(Status::pass) && beyond_bound(one.max_bound_ratio))
      found.push_back(fmt::format("{}: a case passed, and its share of a bound is {}: {}", k.key,
                                  *one.max_bound_ratio, one.reproduce));
    passed += one.status == name(Status::pass);
    failed += is_bad(one.status);
    take(ulp, one, &CertifiedCase::max_ulp);
    if (one.status == name(Status::pass) && one.group == "families" && is_ordinary_family(one.family))
      take(ordinary, one, &CertifiedCase::max_ulp);
    take(ratio, one, &CertifiedCase::max_bound_ratio);
    if (has_resolution(one)) take(resolution, one, &CertifiedCase::resolution);
  }
  if (ulp) no_smaller(found, k, "max_ulp", k.max_ulp, ulp->max_ulp, "its case " + ulp->reproduce);
  if (ordinary)
    no_smaller(found, k, "max_ulp_ordinary", k.max_ulp_ordinary, ordinary->max_ulp,
               "its case " + ordinary->reproduce);
  if (k.max_ulp_ordinary && (!k.max_ulp || *k.max_ulp_ordinary > *k.max_ulp))
    found.push_back(fmt::format("{}: its max_ulp_ordinary is {}, and its max_ulp, of all rows, is {}", k.key,
                                figure_text(k.max_ulp_ordinary), figure_text(k.max_ulp)));
  if (ratio)
    no_smaller(found, k, "max_bound_ratio", k.max_bound_ratio, ratio->max_bound_ratio,
               "its case " + ratio->reproduce);
  if (resolution)
    no_smaller(found, k, "resolution", k.resolution, resolution->resolution,
               "its case " + resolution->reproduce);
  if (passed > k.passed || failed > k.failed)
    found.push_back(fmt::format("{}: {} cases passed and {} failed, and of its cases here {} and {}", k.key,
                                grouped(k.passed), grouped(k.failed), grouped(passed), grouped(failed)));
}

void check_checks(std::vector<std::string>& found, const CertifiedKernel& k) {
  for (const CertifiedCheck& one : k.checks) {
    const std::string what = "its check " + one.name;
    if (one.judged < 0 || one.failed < 0 || one.undecided < 0 || one.failed > one.judged)
      found.push_back(
          fmt::format("{}: {} judged {}, and {} failed and {} were undecided: no check gives this", k.key,
                      what, one.judged, one.failed, one.undecided));
    const char* const verdict = one.failed > 0 ? "fail" : one.undecided > 0 ? "undecided" : "pass";
    if (one.failed == 0 && one.undecided == 0 && beyond_bound(one.utilisation))
      found.push_back(fmt::format("{}: {} passed, and is at {} of its bound", k.key, what, one.utilisation));
    if (one.verdict != verdict)
      found.push_back(fmt::format("{}: {} is {}, and its counts make {}", k.key, what, one.verdict, verdict));
    if (std::ranges::find(kBoundChecks, one.name) != std::end(kBoundChecks) && one.judged > 0)
      no_smaller(found, k, "max_bound_ratio", k.max_bound_ratio, one.utilisation, what);
    for (const auto& [check, figure, value] :
         {std::tuple{Check::element, "resolution", &k.resolution},
          std::tuple{Check::row_sum, "resolution_sum", &k.resolution_sum}})
      if (one.name == name(check) && !same_figure(*value, one.resolution))
        found.push_back(fmt::format("{}: its {} is {}, and {} has {}", k.key, figure, figure_text(*value),
                                    what, figure_text(one.resolution)));
  }
}

/// What was judged must fit the contract that is printed, and the counts.
void check_reach(std::vector<std::string>& found, const CertifiedKernel& k) {
  if (k.failed == 0 && k.inconclusive == 0 && k.passed > 0 && beyond_bound(k.max_bound_ratio))
    found.push_back(fmt::format("{}: its cases passed, and their largest share of a bound is {}", k.key,
                                *k.max_bound_ratio));
  const bool none = k.lengths == 0;
  if (k.rows_judged < 0 || k.core < k.core_beyond || k.core_beyond < 0 || k.core > k.planned ||
      k.lengths < 0 || k.least_V > k.most_V ||
      (none ? k.most_V != 0 || k.most_rows != 0 : k.least_V < 1 || k.most_rows < 1) ||
      k.lengths > k.most_V - k.least_V + 1)
    found.push_back(fmt::format(
        "{}: {} rows of {} lengths from {} to {}, up to {} in a launch, {} of {} cases of the "
        "core beyond its limits: no check gives this",
        k.key, k.rows_judged, k.lengths, k.least_V, k.most_V, k.most_rows, k.core_beyond, k.core));
  if (k.within.starts_with(kWithoutLimits) && k.within.find(", at most") == k.within.npos && k.passed > 0 &&
      k.lengths < kFewestLengths)
    found.push_back(fmt::format("{}: it is right within {}, and rows of {} lengths were judged", k.key,
                                k.within, k.lengths));
  if (k.required.empty() && !k.uncovered.empty())
    found.push_back(k.key + ": nothing is required of it, and it does not take all of that");
}

void check_kernel(std::vector<std::string>& found, const Certificate& c, const CertifiedKernel& k) {
  const std::int64_t sum = k.passed + k.failed + k.inconclusive + k.unsupported + k.not_run;
  if (sum != k.planned)
    found.push_back(fmt::format("{}: {} cases were planned, and its counts add up to {}", k.key,
                                grouped(k.planned), grouped(sum)));
  if (k.too_coarse > k.unsupported)
    found.push_back(fmt::format("{}: {} cases are too coarse to judge, and {} were not judged", k.key,
                                grouped(k.too_coarse), grouped(k.unsupported)));
  if (k.tried_again > k.passed)
    found.push_back(fmt::format("{}: {} cases passed only when tried again, and {} passed", k.key,
                                grouped(k.tried_again), grouped(k.passed)));
  for (const std::int64_t n :
       {k.planned, k.passed, k.failed, k.inconclusive, k.unsupported, k.not_run, k.too_coarse, k.tried_again})
    if (n < 0) found.push_back(fmt::format("{}: a count is {}", k.key, n));
  check_reach(found, k);
  const std::string verdict = verdict_of_kernel(k);
  if (k.verdict != verdict)
    found.push_back(fmt::format("{}: its verdict is {}, and its counts make {}", k.key, k.verdict, verdict));
  check_cases(found, c, k);
  check_checks(found, k);
}

void check_steps(std::vector<std::string>& found, const Certificate& c) {
  std::set<std::string> names;
  for (const CertifiedStep& s : c.steps) {
    const auto data = kDataOfStep.find(s.name);
    if (data == kDataOfStep.end() || !names.insert(s.name).second)
      found.push_back(fmt::format("step {}: there is no such step, or there are two", s.name));
    else if (s.data.empty() ? s.state != StepState::not_run : s.data != data->second)
      found.push_back(
          fmt::format("step {}: its data are \"{}\", and must be {}", s.name, s.data, data->second));
    if (s.state == StepState::not_run && std::ranges::none_of(c.not_proved, [&](const std::string& t) {
          return t.starts_with(s.name + ": ");
        }))
      found.push_back(fmt::format("step {} did not run, and not_proved does not say so", s.name));
  }
  if (const CertifiedStep* const check = find_step(c, "check")) {
    std::int64_t planned = 0, executed = 0, bad = 0;
    for (const CertifiedKernel& k : c.kernels)
      planned += k.planned, executed += k.planned - k.not_run, bad += k.failed + k.inconclusive;
    if (check->planned != planned || check->executed != executed)
      found.push_back(fmt::format(
          "step check: {} cases planned and {} executed, and of its kernels {} and {}",
          grouped(check->planned), grouped(check->executed), grouped(planned), grouped(executed)));
    if (check->state == StepState::passed && bad > 0)
      found.push_back(fmt::format("step check passed, and {} cases of its kernels did not", grouped(bad)));
  }
  if (const CertifiedStep* const fuzz = find_step(c, "fuzz")) {
    // "KEY: 64 inputs, 64 passed, ...", once for each kernel.
    std::int64_t inputs = 0;
    const std::string end = " inputs, ";
    bool any = false;
    for (std::size_t at = fuzz->words.find(end); at != std::string::npos;
         at = fuzz->words.find(end, at + 1)) {
      const std::size_t begin = fuzz->words.rfind(' ', at - 1) + 1;
      const std::vector<std::string> n = numbers_in(fuzz->words.substr(begin, at - begin));
      if (n.size() != 1 || n[0].size() > 18) continue;
      any = true;
      inputs += std::stoll(n[0]);
    }
    if (any && inputs != fuzz->executed)
      found.push_back(fmt::format("step fuzz: {} inputs executed, and its words say {}",
                                  grouped(fuzz->executed), grouped(inputs)));
  }
}

void check_verdict(std::vector<std::string>& found, const Certificate& c) {
  Certificate again = c;
  again.not_proved.clear();
  conclude(again, c.exit_status == 0);
  if (again.verdict != c.verdict || again.exit_status != c.exit_status)
    found.push_back(fmt::format("its verdict is {} (exit status {}), and its steps make {} ({})", c.verdict,
                                c.exit_status, again.verdict, again.exit_status));
  if (c.verdict != name(Verdict::pass) && c.verdict != name(Verdict::judged_in_part)) return;
  if (numbers_in(again.reason) != numbers_in(c.reason))
    found.push_back(fmt::format("its reason is \"{}\", and its steps make \"{}\"", c.reason, again.reason));
  for (const CertifiedCase& one : c.cases)
    if (one.status != name(Status::pass))
      found.push_back(
          fmt::format("its verdict is {}, and a case of it is {}: {}", c.verdict, one.status, one.reproduce));
}

}  // namespace

std::vector<std::string> contradictions(const Certificate& c) {
  std::vector<std::string> found;
  check_verdict(found, c);
  check_steps(found, c);
  for (std::string& one : not_following(c)) found.push_back(std::move(one));
  std::set<std::string> keys;
  for (const CertifiedKernel& k : c.kernels) {
    if (!keys.insert(k.key).second) found.push_back(k.key + ": it has two kernels of this key");
    check_kernel(found, c, k);
  }
  std::set<std::string> strangers;
  for (const CertifiedCase& one : c.cases)
    if (!keys.contains(one.key))
      strangers.insert("a case is of " + one.key + ", which is none of its kernels");
  for (const CertifiedSpeed& s : c.speed)
    if (!keys.contains(s.key)) strangers.insert("a speed is of " + s.key + ", which is none of its kernels");
  found.insert(found.end(), strangers.begin(), strangers.end());
  if (std::string why = impossible_speed(c); !why.empty()) found.push_back(std::move(why));
  const CertifiedStep* const sweep = find_step(c, "sweep");
  if (!c.speed.empty() && (!sweep || sweep->data.empty()))
    found.emplace_back("it has speeds, and its step sweep measured none");
  return found;
}

}  // namespace assay

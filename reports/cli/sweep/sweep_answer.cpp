// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/sweep/sweep_answer.hpp"

#include <fmt/format.h>

#include "reports/cli/commands.hpp"
#include "reports/data/environment.hpp"
#include "reports/sweep/engine.hpp"

namespace assay {
namespace {

/// The identity without the key, which is the suite.
std::string configuration(const SweepRecord& r) {
  const std::string all = identity(r);
  return all.starts_with(r.key + " ") ? all.substr(r.key.size() + 1) : all;
}

VerdictCase case_of(const SweepRecord& r) {
  VerdictCase c{.suite = r.key, .name = configuration(r)};
  if (r.timed()) return c;
  c.message = status_word(r) + (": " + r.reason);
  c.outcome = r.status == Status::fail ? Status::fail : Status::not_run;
  if (c.outcome == Status::fail) c.bad = 1, c.reproduce = r.reproduce;
  return c;
}

void add_change(VerdictDocument& d, const SweepChange& change, Status outcome, const std::string& message) {
  const std::size_t space = change.what.find(' ');
  VerdictCase c{.suite = change.what.substr(0, space), .name = "compared: " + change.what.substr(space + 1)};
  c.outcome = outcome;
  c.bad = outcome == Status::fail;
  c.message = message;
  d.cases.push_back(std::move(c));
}

}  // namespace

VerdictDocument answer_of_sweep(const SweepResult& result, const std::vector<SweepRecord>& records) {
  VerdictDocument d;
  d.command = "sweep";
  d.exit_status = sweep_passed(result) ? kPassed : kFailed;
  d.verdict = pass_or_fail(d.exit_status == kPassed);
  d.reason = sweep_sentence(result);
  d.seconds = result.seconds.all;
  d.environment = environment();
  d.counts = {{"planned", result.planned},
              {"had", result.had},
              {"measured", result.measured()},
              {"once", result.once},
              {"unsupported", result.n[Status::unsupported]},
              {"not_run", result.n[Status::not_run]},
              {"failed", result.n[Status::fail]}};
  for (const SweepRecord& r : records)
    if (r.role != "ceiling") d.cases.push_back(case_of(r));
  return d;
}

void add_comparison(VerdictDocument& d, const SweepComparison& c) {
  d.counts.insert(d.counts.end(), {{"compared", c.compared()},
                                   {"slower", std::ssize(c.slower)},
                                   {"faster", std::ssize(c.faster)},
                                   {"lost", std::ssize(c.lost)}});
  for (const SweepChange& one : c.slower)
    add_change(d, one, Status::fail,
               fmt::format("slower: {:.4g} us, it was {:.4g} us", one.after_us, one.before_us));
  // What was not run this time is no failure, as in the verdict.
  for (const SweepChange& one : c.lost)
    add_change(d, one, one.failed ? Status::fail : Status::not_run, "lost: " + one.reason);
  d.reason += fmt::format("{}{} slower, {} lost of {} configurations compared", d.reason.empty() ? "" : "; ",
                          c.slower.size(), c.lost.size(), c.compared());
  if (comparison_passed(c)) return;
  d.exit_status = kFailed;
  d.verdict = name(Verdict::fail);
}

VerdictDocument answer_of_comparison(const SweepComparison& c) {
  VerdictDocument d;
  d.command = "sweep";
  d.exit_status = kPassed;
  d.verdict = name(Verdict::pass);
  d.environment = environment();
  add_comparison(d, c);
  return d;
}

VerdictDocument answer_of_no_sweep(const std::string& why, std::int64_t planned) {
  VerdictDocument d;
  d.command = "sweep";
  d.exit_status = kEnvironment;
  d.verdict = name(Verdict::not_run);
  d.reason = why;
  d.environment = environment();
  d.counts = {{"planned", planned}, {"not_run", planned}};
  return d;
}

}  // namespace assay

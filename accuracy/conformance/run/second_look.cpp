// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <tuple>

#include "accuracy/case/job.hpp"
#include "accuracy/conformance/deaths.hpp"
#include "accuracy/conformance/diagnosis/diagnosis.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/conformance/run/runner.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/fault_kind.hpp"

namespace assay::conformance {

void confirm(Runner& run, const std::vector<std::size_t>& cases, const Variant& variant, const Hangs* hangs) {
  if (!variant.launcher) return;
  // The wait counts the worker's own time. It is longer here for what the kernel keeps, not because of
  // neighbours.
  constexpr double kTimes = 3;
  constexpr auto kLongest = std::chrono::minutes(10);
  const auto end = std::chrono::steady_clock::now() + kLongest;
  std::vector<std::size_t> open;
  for (const std::size_t i : cases)
    if (run.disturbed[i].any()) open.push_back(i);
  // Also the cases of groups that were left, in case their hangs were not real.
  if (!open.empty())
    for (const std::size_t i : cases)
      if (run.records[i].status == Status::not_run && !run.disturbed[i].any()) open.push_back(i);
  // A kernel that never answered had three looks: three launches, one at a time, each in another process.
  bool shown = hangs && hangs->shown() && !hangs->has_answered();
  // More than 1: the full wait, even of a worker that has hung before.
  const bool many = hangs && hangs->shown();
  variant.launcher->be_patient(many ? 1.01 : kTimes);
  // One look is enough then. A case of few rows is waited for less long. A property (of no rows in its
  // record) and a probe make many launches.
  const auto cost = [&](std::size_t at) {
    const Record& r = run.records[at];
    return std::tuple(r.status != Status::hung, r.rows == 0 || r.family == kProbeFamily, r.rows * r.V);
  };
  if (many)
    std::stable_sort(open.begin(), open.end(),
                     [&](std::size_t a, std::size_t b) { return cost(a) < cost(b); });
  for (const std::size_t at : open) {
    Record& r = run.records[at];
    // It happened too often for another look to show anything.
    if (run.disturbed[at].lost.kind == FaultKind::died && r.status == Status::inconclusive) continue;
    const bool ended = r.status == Status::hung || r.status == Status::crashed;
    if (shown && (many || ended || r.status == Status::not_run)) continue;
    if (std::chrono::steady_clock::now() > end) break;
    Disturbance befell;
    Record again = run.alone(variant, at, &befell);
    if (ended && again.status == r.status) shown = true;
    if (again.status == Status::pass) {
      again.at_first = !r.at_first.empty() ? r.at_first : r.status != Status::pass ? r.reason : std::string();
      // Both are the worker's own time, which no neighbour uses up. A launch this fast is not a slow one.
      const double own = run.disturbed[at].own_seconds, took = befell.ended_seconds;
      if (own > 0 && took < own / 2) {
        again.status = Status::inconclusive;
        again.reason = fmt::format(
            "hung once, for {:.3g} s of its own time, and took {:.2g} s of it alone: state kept between "
            "calls, or a race",
            own, took);
      }
    }
    r = std::move(again);
  }
  variant.launcher->be_patient(1);
}

void repeat_alone(Runner& run, const Variant& variant) {
  if (!variant.launcher) return;
  constexpr int kMost = 6, kTries = 3;
  int left = kMost;
  for (const Finding& f : diagnose(run.records)) {
    const auto at = static_cast<std::size_t>(f.first - run.records.data());
    Record& r = run.records[at];
    // Group `calls` does this itself; a hang costs its whole wait.
    if (r.status != Status::fail && r.status != Status::crashed) continue;
    if (r.group == "calls" || r.group == "big" || r.family == kProbeFamily) continue;
    // A tool has watched a process of its own already, and its answer is kept.
    if (r.group == "races" || r.group == "sanitize") continue;
    // A launcher that refuses refuses again, and another worker is expensive: the search for a contract runs
    // this often.
    if (says_no(r)) continue;
    if (left-- == 0) continue;
    bool passes = true;
    Disturbance befell;
    for (int n = 0; n < kTries && passes && !befell.any(); ++n)
      passes = run.alone(variant, at, &befell).status == Status::pass;
    if (!befell.any()) r.alone = passes ? Alone::passes : Alone::fails;
  }
}

void say_nearest(Runner& run, const Variant& v, const ConformanceOptions& options) {
  int left = 6;
  for (const Finding& f : diagnose(run.records)) {
    Record& r = run.records[static_cast<std::size_t>(f.first - run.records.data())];
    if (r.op == name(Op::softmax_backward)) continue;  // other classes differ in exp and division
    const bool known = find_family(r.family) != nullptr;
    const std::optional<Op> op = parse_op(r.op);
    const bool by_itself =
        r.group == "families" || r.group == "shapes" || r.group == "rows" || r.group == "layout";
    if (r.status != Status::fail || !by_itself || !r.behaves_like.empty() || !known || !op ||
        r.rows * r.V > kLongestRejudged)
      continue;
    // No class of arithmetic makes NaN out of a finite result.
    if (r.worst && std::isnan(r.worst->got) && std::isfinite(r.worst->exact_hi)) continue;
    if (left-- == 0) return;
    const Case inputs = make_case(r.family, v, r.V, r.rows, options.seed);
    const Problem p = problem_of(v, *op, r.rows, r.V, r.pick(), r.V);
    GuardedLaunch launch(v, p, inputs.logits(), fitted({}, v, p));
    if (launch.run().ok()) nearest_class(v, as_seen_by(v, *op, inputs), *op, launch).tell(r);
  }
}

}  // namespace assay::conformance

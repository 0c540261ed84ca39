// SPDX-License-Identifier: Apache-2.0
// `assay check` of one kernel: plans its groups, runs them, and looks again at what is not settled.
#include <algorithm>

#include "accuracy/case/before_launch.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/conformance/run/conformance_run.hpp"
#include "accuracy/conformance/run/runner.hpp"
#include "accuracy/status.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/candidate.hpp"
#include "reference/error.hpp"
#include "reference/parallel.hpp"
#include "reference/text.hpp"

namespace assay::conformance {
namespace {

bool wanted(const Narrowing& n, const ConformanceCase& c) {
  return (n.family.empty() || n.family == c.family) && (n.setup.empty() || c.setup == Setup(n.setup)) &&
         (!n.V || *n.V == c.V) && (!n.pitch || *n.pitch >= c.V) && (!n.rows || *n.rows == c.rows) &&
         n.pick.is(c.pick) && (!n.op || *n.op == c.op);
}

std::vector<Group> chosen_groups(const ConformanceOptions& options) {
  std::vector<Group> all(groups().begin(), groups().end());
  all.insert(all.end(), options.more.begin(), options.more.end());
  for (const std::string& name : options.only)
    if (std::none_of(all.begin(), all.end(), [&](const Group& g) { return name == g.name; })) {
      std::string names;
      std::vector<std::string> known;
      for (const Group& g : all) {
        names += (names.empty() ? "" : ", ") + std::string(g.name);
        known.emplace_back(g.name);
      }
      throw InputError("--only " + name + ": no such group; there are " + names + did_you_mean(name, known));
    }
  const auto among = [](const std::vector<std::string>& names, const Group& g) {
    return std::find(names.begin(), names.end(), g.name) != names.end();
  };
  std::erase_if(all, [&](const Group& g) {
    if (among(options.also, g)) return false;
    return options.only.empty() ? g.optional : !among(options.only, g);
  });
  return all;
}

/// True if the group has cases of no row. Others can show nothing there: they compare launches, or rows.
/// (What draws its own sizes, as the probe does, has no V.)
bool plans_no_rows(const Group& g, Planning planning) {
  planning.narrow.rows.reset();
  const std::vector<Unit> units = g.plan(planning);
  return std::any_of(units.begin(), units.end(), [](const Unit& u) {
    return std::any_of(u.cases.begin(), u.cases.end(),
                       [](const ConformanceCase& c) { return c.rows == 0 && c.V > 0; });
  });
}

/// Throws InputError if the buffers of the case would have more elements than an address can reach.
void require_possible(const Variant& v, const ConformanceCase& c, const Narrowing& n) {
  if (c.family == kProbeFamily) return;  // probes choose their own sizes
  const Problem p = problem_of(c.variant ? *c.variant : v, c.op, c.rows, c.V,
                               Pick(std::max(c.pick.k, 1), c.pick.threshold), n.pitch.value_or(c.V));
  if (const std::string why = invalid_reason(p); !why.empty())
    throw InputError((n.pitch ? "--pitch: " : "--V and --rows: ") + why);
}

UnitPlan plan_groups(const std::vector<Group>& chosen, const Variant& variant,
                     const ConformanceOptions& options) {
  UnitPlan plan;
  for (const Group& g : chosen) {
    const Planning planning{variant, options.extent, options.narrow, options.seed, !options.only.empty()};
    if (options.narrow.rows == 0 && !plans_no_rows(g, planning)) continue;
    std::vector<Unit> units = g.plan(planning);
    make_squares(planning, g.name, units);
    for (Unit& u : units) {
      std::erase_if(u.cases, [&](const ConformanceCase& c) {
        const bool too_large = options.most_elements > 0 && c.rows * c.V > options.most_elements;
        return too_large || !wanted(options.narrow, c);
      });
      for (const ConformanceCase& c : u.cases) require_possible(variant, c, options.narrow);
      if (!u.cases.empty()) plan.add(g, std::move(u));
    }
  }
  if (plan.units.empty())
    throw InputError("the plan is empty: no case of these groups is what was asked for");
  return plan;
}

/// A worker process has its own device context, which takes a tenth of a second to make, and contexts take
/// turns. An interpreter's worker takes longer, because of what it loads.
int threads_for(const Variant& v, const ConformanceOptions& options) {
  const int most = v.launcher ? v.launcher->most_workers() : 0;
  if (options.threads <= 0 && most > 0) return std::min(thread_count(0), most);
  const bool few = options.threads <= 0 && !on_host(v.backend) && options.extent == Extent::quick;
  return few ? std::min(thread_count(0), 8) : thread_count(options.threads);
}

/// A kernel with operands passes only if they were judged. If every case of theirs is outside the domain, the
/// last one says that nothing was proved.
void require_operands(std::vector<Record>& records, const Variant& v) {
  if (v.operands.none()) return;
  Record* last = nullptr;
  for (Record& r : records) {
    if (r.group != "operands") continue;
    if (r.status != Status::unsupported) return;
    last = &r;
  }
  if (!last) return;
  last->status = Status::inconclusive;
  last->why = Why::none;
  last->reason = "no case with " + text_of(v.operands) + " was judged: " + last->reason;
}

}  // namespace

ConformanceRun::ConformanceRun(const std::function<Variant()>& make, ConformanceOptions options, Stage up_to)
    : make_(make), options_(std::move(options)), first_(make()) {
  set_seed_of_run(options_.seed);
  groups_ = chosen_groups(options_);
  runner_ = std::make_unique<Runner>(plan_groups(groups_, first_, options_), options_);
  go_on(up_to);
}

ConformanceRun::~ConformanceRun() = default;

void ConformanceRun::go_on(Stage up_to) {
  do {
    runner_->run(first_, make_, threads_for(first_, options_), up_to);
    const std::vector<std::size_t> cases = runner_->newly_run();
    confirm(*runner_, cases, first_, options_.hangs.get());
    for (const std::size_t i : cases) finish_texts(runner_->records[i]);
    runner_->keep_settled(first_, cases);
  } while (runner_->stopped() && !is_wrong(options_.enough));
}

bool ConformanceRun::is_wrong(const std::function<bool(const Record&)>& enough) const {
  for (std::size_t i = 0; i < runner_->records.size(); ++i) {
    const Record& r = runner_->records[i];
    if (runner_->has_run[i] &&
        (r.status == Status::fail || r.status == Status::crashed || r.status == Status::hung) &&
        (!enough || enough(r)))
      return true;
  }
  return false;
}

std::vector<Record> ConformanceRun::records() const {
  std::vector<Record> all;
  for (std::size_t i = 0; i < runner_->records.size(); ++i)
    if (runner_->has_run[i]) all.push_back(runner_->records[i]);
  return all;
}

bool ConformanceRun::holds() const { return runner_->holds(); }

ConformanceResult ConformanceRun::explained() {
  const auto enough = [this] { return options_.fail_fast && is_wrong({}); };
  if (!enough()) go_on(Stage::last);
  if (enough()) runner_->leave_rest(first_);
  require_operands(runner_->records, first_);
  ConformanceResult result;
  result.planned = static_cast<std::int64_t>(runner_->records.size());
  result.executed = executed(runner_->records);
  repeat_alone(*runner_, first_);
  say_nearest(*runner_, first_, options_);
  for (Record& r : runner_->records) finish_texts(r);
  result.records = std::move(runner_->records);
  return result;
}

ConformanceResult run_conformance(const std::function<Variant()>& make, const ConformanceOptions& options) {
  return ConformanceRun(make, options, Stage::last).explained();
}

}  // namespace assay::conformance

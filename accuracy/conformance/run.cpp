// Plans the groups, states the plan, runs the units over threads, and accounts for every planned case.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "accuracy/behaves_like.hpp"
#include "accuracy/checker.hpp"
#include "accuracy/conformance/bench.hpp"
#include "accuracy/conformance/diagnosis.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "kernels/candidate.hpp"
#include "reference/environment_error.hpp"

namespace assay::conformance {
namespace {

struct Planned {
  const Group* group;
  Unit unit;
  std::size_t first;
};

bool wanted(const Narrowing& n, const ConformanceCase& c) {
  return (n.family.empty() || n.family == c.family) && (n.setup.empty() || n.setup == c.setup) &&
         (!n.V || *n.V == c.V) && (!n.rows || *n.rows == c.rows) && (!n.k || *n.k == c.k) &&
         (!n.op || *n.op == c.op);
}

class Run {
 public:
  Run(std::vector<Planned> plan, const std::vector<Group>& groups, const ConformanceOptions& options,
      ConformanceResult& result)
      : plan_(std::move(plan)), groups_(groups), options_(options), result_(result) {
    patience_ = std::vector<Patience>(groups.size());
    doubtful_.assign(result.records.size(), false);
    order_.resize(plan_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    // Largest first, so that no thread starts a long unit when the others are done.
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return plan_[a].unit.weight > plan_[b].unit.weight;
    });
  }

  void work(Variant variant) {
    Bench bench(std::move(variant), options_);
    try {
      for (std::size_t i; !stop_ && (i = next_++) < order_.size();) run_unit(bench, plan_[order_[i]]);
    } catch (...) {
      stop(std::current_exception());
    }
  }
  /// The other threads end with the units they are at.
  void stop(std::exception_ptr error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) error_ = std::move(error);
    stop_ = true;
  }
  /// Every case in which something befell a launch that the kernel need have no part in: once more, with no
  /// other worker beside it, in a fresh process and with ten times the patience. That is its record. Once one
  /// ends as it did before, the kernel's hand in it is shown, and the rest keep what they have.
  void confirm(Variant variant) {
    if (!variant.launcher || stop_) return;
    constexpr double kTimes = 10;
    constexpr auto kLongest = std::chrono::minutes(10);
    const auto end = std::chrono::steady_clock::now() + kLongest;
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < doubtful_.size(); ++i)
      if (doubtful_[i]) open.push_back(i);
    // Groups that were left for hangs that were none.
    if (!open.empty())
      for (std::size_t i = 0; i < doubtful_.size(); ++i)
        if (result_.records[i].status == Status::not_run && !doubtful_[i]) open.push_back(i);
    bool shown = false;
    variant.launcher->be_patient(kTimes);
    for (const std::size_t at : open) {
      Record& r = result_.records[at];
      const bool ended = r.status == Status::hung || r.status == Status::crashed;
      if (shown && (ended || r.status == Status::not_run)) continue;
      if (std::chrono::steady_clock::now() > end) break;
      const Planned* const p = planned_at(at);
      if (!p) continue;
      Record again = alone(variant, *p, at);
      if (ended && again.status == r.status) shown = true;
      if (again.status == Status::pass && !r.reason.empty() && r.status != Status::pass)
        again.evidence.push_back("at first: " + r.reason);
      r = std::move(again);
    }
    variant.launcher->be_patient(1);
    result_.executed = std::count_if(result_.records.begin(), result_.records.end(),
                                     [](const Record& r) { return r.status != Status::not_run; });
  }
  /// Every first case of a finding once more, as the only one of a fresh process: what passes there needs
  /// others before it to fail. Three times, because what races seldom loses.
  void repeat_alone(Variant variant) {
    if (!variant.launcher || stop_) return;
    constexpr int kMost = 6, kTries = 3;
    int left = kMost;
    for (const Finding& f : diagnose(result_.records)) {
      const auto at = static_cast<std::size_t>(f.first - result_.records.data());
      Record& r = result_.records[at];
      // The calls of group `calls` say so themselves; a hang costs its whole wait.
      if (r.status != Status::fail && r.status != Status::crashed) continue;
      if (r.group == "calls" || r.group == "big" || r.family == kProbeFamily) continue;
      const Planned* const p = planned_at(at);
      if (!p || left-- == 0) continue;
      bool passes = true, disturbed = false;
      for (int n = 0; n < kTries && passes; ++n) {
        passes = alone(variant, *p, at, &disturbed).status == Status::pass;
        if (disturbed) break;
      }
      if (!disturbed) r.alone = passes ? Alone::passes : Alone::fails;
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const Planned* planned_at(std::size_t record) const {
    const auto p = std::find_if(plan_.begin(), plan_.end(), [&](const Planned& one) {
      return record >= one.first && record < one.first + one.unit.cases.size();
    });
    return p == plan_.end() ? nullptr : &*p;
  }

  /// One case as the only one of a fresh process.
  Record alone(const Variant& variant, const Planned& p, std::size_t record, bool* disturbed = nullptr) {
    variant.launcher->restart();
    variant.launcher->disturbance();
    Bench bench(variant, options_);
    Patience patience;
    const ConformanceCase& c = p.unit.cases[record - p.first];
    std::optional<Record> made;
    bench.enter(*p.group, patience, 0, [&](std::size_t, Record r) { made = std::move(r); });
    p.unit.run(bench, {c});
    const Disturbance d = variant.launcher->disturbance();
    if (disturbed) *disturbed = d.any();
    if (!d.lost.empty()) return lost(bench, c, d.lost);
    return made ? std::move(*made) : lost(bench, c, "no record was made of it");
  }

  /// A case of which nothing was shown.
  static Record lost(const Bench& bench, const ConformanceCase& c, const std::string& why) {
    if (why.starts_with("memory: ")) return bench.unsupported(c, why);
    Record r = bench.blank(c);
    r.reason = why;
    return r;
  }

  void run_unit(Bench& bench, const Planned& p) {
    Patience& patience = patience_[static_cast<std::size_t>(p.group - groups_.data())];
    const auto cases = static_cast<std::size_t>(p.unit.cases.size());
    std::vector<bool> emitted(cases, false);
    Launcher* const launcher = bench.variant().launcher.get();
    const auto disturbance = [&] { return launcher ? launcher->disturbance() : Disturbance(); };
    disturbance();
    bench.enter(*p.group, patience, 0, [&](std::size_t i, Record r) {
      emitted[i] = true;
      const Disturbance d = disturbance();
      if (!d.lost.empty()) r = lost(bench, p.unit.cases[i], d.lost);
      put(p.first + i, std::move(r), d.any());
    });
    const std::string away = cannot_launch(bench.variant());
    if (away.empty() && bench.go_on()) {
      std::unique_lock<std::mutex> alone(exclusive_, std::defer_lock);
      if (p.unit.exclusive) alone.lock();
      p.unit.run(bench, p.unit.cases);
    }
    for (std::size_t i = 0; i < cases; ++i)
      if (!emitted[i]) {
        Record r = bench.blank(p.unit.cases[i]);
        r.reason = !away.empty() ? away
                                 : fmt::format("the group was left after {} crashes and {} hangs",
                                               patience.crashes.load(), patience.hangs.load());
        put(p.first + i, std::move(r));
      }
  }

  void put(std::size_t at, Record r, bool doubtful = false) {
    const std::lock_guard<std::mutex> lock(mutex_);
    doubtful_[at] = doubtful;
    result_.executed += r.status != Status::not_run;
    result_.records[at] = std::move(r);
    ++done_;
    if (options_.progress) options_.progress(done_, static_cast<std::int64_t>(result_.records.size()));
  }

  const std::vector<Planned> plan_;
  const std::vector<Group>& groups_;
  const ConformanceOptions& options_;
  ConformanceResult& result_;
  std::vector<Patience> patience_;
  std::vector<bool> doubtful_;  // by record
  std::vector<std::size_t> order_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_, exclusive_;
  std::int64_t done_ = 0;
  std::exception_ptr error_;
};

std::vector<Group> chosen_groups(const ConformanceOptions& options) {
  std::vector<Group> all(groups().begin(), groups().end());
  all.insert(all.end(), options.more.begin(), options.more.end());
  for (const std::string& name : options.only)
    if (std::none_of(all.begin(), all.end(), [&](const Group& g) { return name == g.name; })) {
      std::string names;
      for (const Group& g : all) names += (names.empty() ? "" : ", ") + std::string(g.name);
      throw InputError("--only " + name + ": no such group; there are " + names);
    }
  std::erase_if(all, [&](const Group& g) {
    if (std::find(options.also.begin(), options.also.end(), g.name) != options.also.end()) return false;
    return options.only.empty()
               ? g.optional
               : std::find(options.only.begin(), options.only.end(), g.name) == options.only.end();
  });
  return all;
}

/// What the first case of every finding would pass as: the launch is made once more, under its own layout's
/// plain form, and judged under other claims.
void say_nearest(const Variant& v, const ConformanceOptions& options, std::vector<Record>& records) {
  int left = 6;
  for (const Finding& f : diagnose(records)) {
    Record& r = records[static_cast<std::size_t>(f.first - records.data())];
    const bool known = find_family(r.family) || r.family == kShifted || r.family == kSameHead;
    const std::optional<Op> op = parse_op(r.op);
    const bool by_itself =
        r.group == "families" || r.group == "shapes" || r.group == "rows" || r.group == "layout";
    if (r.status != Status::fail || !by_itself || !r.behaves_like.empty() || !known || !op ||
        r.rows * r.V > 1 << 16)
      continue;
    if (left-- == 0) return;
    const Case inputs = make_case(r.family, v, r.V, r.rows, options.seed);
    const Problem p = problem_of(v, *op, r.rows, r.V, r.k, r.V);
    GuardedLaunch launch(v, p, inputs.logits(), fitted({}, v, p));
    if (launch.run().ok()) nearest_class(v, inputs, *op, launch).tell(r);
  }
}

}  // namespace

ConformanceResult run_conformance(const std::function<Variant()>& make, const ConformanceOptions& options) {
  const std::vector<Group> chosen = chosen_groups(options);
  const Variant first = make();
  ConformanceResult result;
  std::vector<Planned> plan;
  for (const Group& g : chosen)
    for (Unit& u : g.plan({first, options.extent, options.narrow, options.seed, !options.only.empty()})) {
      std::erase_if(u.cases, [&](const ConformanceCase& c) {
        const bool too_large = options.most_elements > 0 && c.rows * c.V > options.most_elements;
        return too_large || !wanted(options.narrow, c);
      });
      if (u.cases.empty()) continue;
      const auto at = static_cast<std::size_t>(result.planned);
      result.planned += static_cast<std::int64_t>(u.cases.size());
      plan.push_back({&g, std::move(u), at});
    }
  if (plan.empty()) throw InputError("the plan is empty: no case of these groups is what was asked for");
  result.records.resize(static_cast<std::size_t>(result.planned));

  Run run(std::move(plan), chosen, options, result);
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  // Every worker of a device has a context of its own, half a second to make.
  const bool few = !on_host(first.backend) && options.extent == Extent::quick;
  const int useful = few ? std::min(cores, 8) : cores;
  const int threads = options.threads > 0 ? options.threads : useful;
  std::vector<std::thread> workers;
  // What can not be made ends the run, once the threads that are at work have ended.
  try {
    for (int i = 1; i < threads; ++i) workers.emplace_back([&run, v = make()] { run.work(v); });
  } catch (const EnvironmentError&) {
    // Fewer threads do.
  } catch (...) {
    run.stop(std::current_exception());
  }
  run.work(first);
  for (std::thread& w : workers) w.join();
  run.rethrow();
  run.confirm(first);
  run.repeat_alone(first);
  say_nearest(first, options, result.records);
  return result;
}

}  // namespace assay::conformance

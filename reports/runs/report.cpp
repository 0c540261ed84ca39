// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "accuracy/conformance/run/runner.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/device.hpp"
#include "reference/parallel.hpp"
#include "reports/data/environment.hpp"

namespace assay {
namespace {

/// True for the cases whose profiles the page draws: real logits, and the families with the widest range.
bool profiled(const std::string& family, std::int64_t V) {
  return (family == "gpt_logits" && V == 32000) || (family == "uniform_80" && V == 4099) ||
         (family == "normal_10" && V == 4099);
}

/// The error profiles that the page draws, collected while their cases are judged.
class Profiles {
 public:
  /// The profile of such a case; null for other cases. Thread-safe.
  ErrorProfile* of(const Variant& v, const conformance::ConformanceCase& c) {
    if (!profiled(c.family, c.V) || c.op != Op::softmax) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    Profile& p = all_.emplace_back();
    p.key = v.key();
    p.variant = v.variant;
    p.dtype = name(v.dtype);
    p.backend = name(v.backend);
    p.family = c.family;
    p.V = c.V;
    return &p;
  }
  /// Sorted by family and key.
  std::vector<Profile> sorted() {
    std::vector<Profile> out(std::make_move_iterator(all_.begin()), std::make_move_iterator(all_.end()));
    std::sort(out.begin(), out.end(), [](const Profile& a, const Profile& b) {
      return std::tie(a.family, a.key) < std::tie(b.family, b.key);
    });
    return out;
  }

 private:
  std::mutex mutex_;
  std::deque<Profile> all_;  // a deque, because pointers to its elements are handed out
};

/// What each key behaves like, from its probe's record if there is one.
std::map<std::string, std::string> behaviours(const Plan& plan, const std::vector<Record>& records,
                                              const RunOptions& options) {
  std::map<std::string, std::string> by_key;
  for (const Record& r : records)
    if (r.family == kProbeFamily) by_key[r.key] = r.behaves_like;
  // Another process of a shared run may have the probe of a key that has records here.
  std::set<std::string> wanted;
  for (const Record& r : records)
    if (options.probes && !by_key.contains(r.key)) wanted.insert(r.key);
  std::vector<const Variant*> probed;
  for (const Variant* v : plan.keys)
    if (wanted.contains(v->key()) && unavailable_reason(v->backend).empty()) probed.push_back(v);
  std::vector<std::string> like(probed.size());
  parallel_for(like.size(), options.threads, [&](std::size_t i) { like[i] = behaviour_of(*probed[i]).like; });
  for (std::size_t i = 0; i < like.size(); ++i) by_key[probed[i]->key()] = like[i];
  return by_key;
}

/// Runs the plan's units in this process, by the runner of `assay check`.
std::vector<Record> judged(const Plan& plan, const Selection& selection, const RunOptions& options,
                           Profiles& profiles) {
  conformance::ConformanceOptions how;
  how.report = true;
  how.seed = selection.seed;
  how.tier = selection.tier;
  how.logits = selection.logits;
  how.narrow.pitch = selection.pitch;
  how.progress = options.progress;
  how.kept = options.kept;
  // The page's profiles are made while their cases are judged, so these cases run in any case.
  how.again = [](const conformance::ConformanceCase& c) { return profiled(c.family, c.V); };
  how.profile = [&](const Variant& v, const conformance::ConformanceCase& c) { return profiles.of(v, c); };
  const conformance::Group group{"families", "", nullptr};
  conformance::UnitPlan units;
  for (const conformance::Unit& u : plan.units) units.add(group, u);
  conformance::Runner runner(std::move(units), how);
  // Every case names its kernel, so the threads need no candidate of their own.
  const auto none = [] { return Variant(); };
  runner.run(none(), none, options.threads);
  return std::move(runner.records);
}

}  // namespace

KeyInfo key_info(const Variant& v) {
  const Claim& c = v.claim;
  const bool sums = v.op != Op::topk;
  KeyInfo k;
  k.key = v.key();
  k.variant = v.variant;
  k.dtype = name(v.dtype);
  k.backend = name(v.backend);
  k.op = name(v.op);
  k.algorithm = sums ? name(c.algorithm) : "selection";
  if (c.rescale_threshold > 0) k.algorithm += ", late";
  if (log_probabilities(v.op)) k.algorithm += std::string(", ") + name(c.log_form);
  const bool exps = sums && v.op != Op::softmax_backward;
  if (sums && !exps) k.algorithm = "backward";
  k.exp = exps ? name(c.exp) : "none";
  k.division = exps ? name(c.division) : "none";
  k.internals = sums ? name(c.internals) : "none";
  // Loads per element of a row that fits into registers, and of the longest row.
  const int least = c.loads(1), most = c.loads(std::int64_t{1} << 40);
  k.accesses = least == most ? fmt::format("{}+{}", least, c.stores(1))
                             : fmt::format("{} to {}+{}", least, most, c.stores(1));
  k.policy = !sums   ? fmt::format("NaN ranks {}", name(c.policy.nan_order))
             : !exps ? "NaN: NaN; inf: nothing finite"
             : v.op == Op::lse
                 ? fmt::format("all -inf: -inf; +inf: {}; NaN: NaN",
                               c.policy.pos_inf == PosInfRows::nan ? "NaN" : "+inf")
                 : fmt::format("all -inf: {}; +inf: {}; NaN: NaN",
                               c.policy.all_neg_inf == NegInfRows::nan ? "NaN" : "0",
                               c.policy.pos_inf == PosInfRows::nan ? "NaN" : "NaN at +inf, else 0");
  k.determinism = name(c.determinism);
  k.claimed = claimed_class(v);
  k.not_run = cannot_launch(v);
  return k;
}

ReportData run_report(const Plan& plan, const Selection& selection, const RunOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  ReportData data;
  data.quick = selection.quick;
  data.environment = environment();
  data.environment.emplace_back("seed", std::to_string(selection.seed));
  data.environment.emplace_back("plan", describe(plan));
  for (const Variant* v : plan.keys) data.keys.push_back(key_info(*v));
  for (const Family* f : plan.families) data.families.push_back({f->name, f->why});
  if (plan.probes) data.families.push_back({kProbeFamily, kProbeWhy});

  Profiles profiles;
  data.records = judged(plan, selection, options, profiles);
  data.profiles = profiles.sorted();
  // A record that passed behaves as its key does.
  const auto like = behaviours(plan, data.records, options);
  for (Record& r : data.records)
    if (const auto at = like.find(r.key);
        r.status == Status::pass && r.behaves_like.empty() && at != like.end())
      r.behaves_like = at->second;
  for (const conformance::Unit& u : plan.units)
    for (const conformance::ConformanceCase& c : u.cases)
      data.planned += unavailable_reason(c.variant->backend).empty();
  data.executed = conformance::executed(data.records);
  data.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return data;
}

}  // namespace assay

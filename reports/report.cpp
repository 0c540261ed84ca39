#include "reports/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>

#include "accuracy/behaves_like.hpp"
#include "accuracy/checker.hpp"
#include "kernels/device.hpp"
#include "reference/npy.hpp"
#include "reference/parallel.hpp"
#include "reports/profile.hpp"

namespace assay {
namespace {

Tensor first_rows(Tensor t, std::int64_t rows) {
  t.rows = rows;
  t.bytes.resize(static_cast<std::size_t>(rows * t.V) * size_of(t.dtype));
  return t;
}

/// Shared state of the workers.
class Run {
 public:
  Run(const Plan& plan, const Selection& selection, const RunOptions& options, ReportData& data)
      : plan_(plan), selection_(selection), options_(options), data_(data) {
    behaviours_.resize(plan.keys.size());
  }

  /// The probes, then the units, with no wait between them.
  void run() {
    const std::size_t probes = options_.probes || plan_.probes ? plan_.keys.size() : 0;
    const std::vector<std::size_t> order =
        largest_first(plan_.units.size(), [this](std::size_t i) { return weight(i); });
    parallel_for(probes + order.size(), options_.threads, [&](std::size_t i) {
      if (i < probes)
        run_probe(i);
      else
        run_unit(plan_.units[order[i - probes]]);
    });
  }

  /// A record that passed behaves like its key.
  void say_behaviours() {
    std::map<std::string, const std::string*> like;
    for (std::size_t i = 0; i < plan_.keys.size(); ++i) like[plan_.keys[i]->key()] = &behaviours_[i].like;
    for (Record& r : data_.records)
      if (r.status == Status::pass && r.behaves_like.empty()) r.behaves_like = *like[r.key];
  }

 private:
  double weight(std::size_t i) const {
    const Unit& u = plan_.units[i];
    return static_cast<double>(u.rows) * static_cast<double>(u.V + 512) *
           static_cast<double>(u.jobs.size() + 4);
  }

  void run_probe(std::size_t i) {
    const Variant& v = *plan_.keys[i];
    const std::string why = unavailable_reason(v.backend);
    if (why.empty()) behaviours_[i] = behaviour_of(v);
    if (!plan_.probes) return;
    Record r = probe_record(v, behaviours_[i]);
    if (!why.empty()) {
      r.status = Status::not_run;
      r.reason = why;
      r.rows_judged = 0;
    }
    finish_record(plan_.first_probe + i, std::move(r));
  }

  void run_unit(const Unit& u) {
    const std::string family = u.family ? u.family->name : "logits";
    const bool any_runs = std::any_of(u.jobs.begin(), u.jobs.end(), [](const Job& j) {
      return unavailable_reason(j.variant->backend).empty();
    });
    std::optional<Case> inputs;
    if (any_runs) {
      if (u.family)
        inputs.emplace(*u.family, u.dtype, u.V, u.rows, selection_.seed, selection_.tier);
      else
        inputs.emplace(family, first_rows(read_npy(selection_.logits), u.rows), selection_.tier);
    }
    for (std::size_t j = 0; j < u.jobs.size(); ++j) run_job(u, u.jobs[j], u.first_record + j, family, inputs);
  }

  void run_job(const Unit& u, const Job& job, std::size_t at, const std::string& family,
               const std::optional<Case>& inputs) {
    Record r;
    Profile profile;
    bool has_profile = false;
    if (std::string why = unavailable_reason(job.variant->backend); !why.empty()) {
      r = blank_record(*job.variant, family, job.op, u.V, u.rows, job.k, selection_.seed);
      r.reason = why;
    } else {
      CheckOptions options;
      options.pitch = selection_.pitch.value_or(0);
      has_profile = profiled(family, u.V) && job.op == Op::softmax;
      std::optional<ProfileObserver> observer;
      if (has_profile) {
        profile = {job.variant->key(),
                   job.variant->variant,
                   name(job.variant->dtype),
                   name(job.variant->backend),
                   family,
                   u.V,
                   {},
                   0,
                   {},
                   0,
                   0};
        observer.emplace(profile);
        options.observer = &*observer;
      }
      r = check_case(*job.variant, *inputs, job.op, job.k, options);
      if (observer) observer->finish();
    }
    if (!u.family) {
      r.reproduce = fmt::format("assay report --key {} --logits {} --rows {}", r.key,
                                shell_quoted(std::filesystem::absolute(selection_.logits).string()), u.rows);
      if (selects(job.op)) r.reproduce += fmt::format(" --k {}", job.k);
      if (job.op != job.variant->op) r.reproduce += fmt::format(" --op {}", name(job.op));
    }
    if (selection_.pitch) r.reproduce += fmt::format(" --pitch {}", *selection_.pitch);
    if (has_profile) {
      const std::lock_guard<std::mutex> lock(mutex_);
      data_.profiles.push_back(std::move(profile));
    }
    finish_record(at, std::move(r));
  }

  void finish_record(std::size_t at, Record r) {
    const std::lock_guard<std::mutex> lock(mutex_);
    data_.records[at] = std::move(r);
    ++done_;
    if (options_.progress) options_.progress(done_, plan_.records);
  }

  const Plan& plan_;
  const Selection& selection_;
  const RunOptions& options_;
  ReportData& data_;
  std::vector<Behaviour> behaviours_;  // by key
  std::mutex mutex_;
  std::int64_t done_ = 0;
};

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
  if (v.op == Op::log_softmax) k.algorithm += std::string(", ") + name(c.log_form);
  k.exp = sums ? name(c.exp) : "none";
  k.division = sums ? name(c.division) : "none";
  k.internals = sums ? name(c.internals) : "none";
  // Loads of a row that fits into registers, and of the longest.
  const int least = c.loads(1), most = c.loads(std::int64_t{1} << 40);
  k.accesses = least == most ? fmt::format("{}+{}", least, c.stores(1))
                             : fmt::format("{} to {}+{}", least, most, c.stores(1));
  k.policy = !sums ? fmt::format("NaN ranks {}", name(c.policy.nan_order))
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
  data.environment = environment();
  data.environment.emplace_back("seed", std::to_string(selection.seed));
  data.environment.emplace_back("plan", describe(plan));
  for (const Variant* v : plan.keys) data.keys.push_back(key_info(*v));
  for (const Family* f : plan.families) data.families.push_back({f->name, f->why});
  if (plan.probes) data.families.push_back({kProbeFamily, kProbeWhy});
  data.records.resize(static_cast<std::size_t>(plan.records));

  Run run(plan, selection, options, data);
  run.run();
  run.say_behaviours();

  std::sort(data.profiles.begin(), data.profiles.end(), [](const Profile& a, const Profile& b) {
    return std::tie(a.family, a.key) < std::tie(b.family, b.key);
  });
  for (const Unit& u : plan.units)
    for (const Job& j : u.jobs) data.planned += unavailable_reason(j.variant->backend).empty();
  if (plan.probes)
    for (const Variant* v : plan.keys) data.planned += unavailable_reason(v->backend).empty();
  for (const Record& r : data.records) data.executed += r.status != Status::not_run;
  data.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return data;
}

}  // namespace assay

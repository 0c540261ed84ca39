// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <future>
#include <optional>
#include <set>
#include <thread>

#include "accuracy/engine.hpp"
#include "accuracy/reproduce.hpp"
#include "kernels/candidate.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"
#include "reports/build_info.hpp"
#include "reports/sweep/data/record.hpp"
#include "reports/sweep/measurement.hpp"
#include "reports/sweep_page/page.hpp"

namespace assay {
namespace {

class Sweep {
 public:
  Sweep(const SweepOptions& options, const std::filesystem::path& folder)
      : options_(options), inputs_(options.family, options.seed), file_(folder / "sweep.jsonl") {}

  SweepResult run(const std::vector<SweepJob>& plan) {
    {
      const Spent spent(result_.seconds.all);
      const auto begin = std::chrono::steady_clock::now();
      result_.planned = static_cast<std::int64_t>(plan.size());
      std::vector<RunUnit> units(plan.size(), {.exclusive = true});
      run_units(units, 1, [&](std::size_t i, int) {
        const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begin;
        if (result_.stopped.empty() && options_.budget_seconds > 0 && since.count() > options_.budget_seconds)
          result_.stopped = fmt::format("the budget of {:g} s was spent", options_.budget_seconds);
        one(plan[i]);
        if (options_.progress) options_.progress(static_cast<std::int64_t>(i) + 1, result_.planned);
      });
      settle(0);
      const Spent writing(result_.seconds.files);
      file_.compact();
    }
    return std::move(result_);
  }

 private:
  void one(const SweepJob& j) {
    SweepRecord r = blank_sweep_record(j, options_);
    const SweepRecord* const had = options_.again ? nullptr : file_.find(identity(r));
    if (had && had->status != Status::not_run) {
      ++result_.had;
      count(*had);
      result_.of_plan.push_back(*had);
      return;
    }
    Completion left = run_one(r, j);
    // One thread judges, if there are some to spare: the launches of the next configurations go on meanwhile.
    pending_.push_back(std::async(left ? std::launch::async : std::launch::deferred, completed, std::move(r),
                                  std::move(left)));
    settle(left_to_others());
  }

  static SweepRecord completed(SweepRecord r, const Completion& left) {
    try {
      if (left) left(r);
    } catch (const std::exception& e) {
      r.status = Status::fail;
      r.reason = e.what();
    }
    return r;
  }

  /// Judgements that may be under way: as many as there are cores but for two, which drive the GPU.
  static std::size_t left_to_others() {
    const unsigned cores = std::thread::hardware_concurrency();
    return cores > 2 ? std::min(cores - 2, 16u) : 0;
  }

  /// Stores records in the order of the plan, until at most so many wait for their judgement.
  void settle(std::size_t most) {
    while (!pending_.empty()) {
      std::future<SweepRecord>& next = pending_.front();
      if (pending_.size() <= most && next.wait_for(std::chrono::seconds(0)) == std::future_status::timeout)
        return;
      SweepRecord r;
      {
        const Spent spent(result_.seconds.waiting);
        r = next.get();
      }
      pending_.pop_front();
      count(r);
      result_.of_plan.push_back(r);
      // With --again, a configuration that was not reached keeps its old record.
      const SweepRecord* const known = file_.find(identity(r));
      if (r.status == Status::not_run && known && known->status != Status::not_run) continue;
      const Spent spent(result_.seconds.files);
      file_.add(r);
    }
  }

  /// Returns what is left to do, or null.
  Completion run_one(SweepRecord& r, const SweepJob& j) {
    const Variant& v = j.subject->variant;
    Side& side = on_device(v) ? device_ : host_;
    const std::string cannot = !result_.stopped.empty()      ? result_.stopped
                               : !j.subject->missing.empty() ? j.subject->missing
                               : v.launcher                  ? ""
                                                             : unavailable_reason(v.backend);
    r.reason = cannot;
    if (!cannot.empty()) return {};
    Completion left;
    try {
      side.open();
      put_machine(r, side.rig().machine());
      r.sm_clock_mhz = side.rig().machine().sm_clock_mhz;
      r.mem_clock_mhz = side.rig().machine().mem_clock_mhz;
      if (v.launcher) r.compiler = r.flags = "";  // those of this program
      same_machine(r);
      left = measure(r, j, side, inputs_, result_.seconds);
      add_ceilings(r, side);
    } catch (const SweepUnsupported& e) {
      r.status = Status::unsupported;
      r.reason = e.what();
    } catch (const SweepNotRun& e) {
      r.status = Status::not_run;
      r.reason = e.what();
    } catch (const InputError&) {
      throw;
    } catch (const std::exception& e) {
      r.status = Status::fail;
      r.reason = e.what();
      if (side.opened() && !side.rig().alive())
        result_.stopped = r.key + " left the GPU unusable for this process: run again to continue";
    }
    return left;
  }

  /// A file's shares are of one machine, so a record of another machine is refused.
  void same_machine(const SweepRecord& r) {
    if (!machines_.insert(r.backend).second) return;  // this run adds only records of this machine
    for (const SweepRecord& o : file_.all())
      if (o.backend == r.backend && !o.gpu.empty() && o.gpu != r.gpu)
        throw InputError(
            fmt::format("--out: holds records of {}, this is {}: choose another folder", o.gpu, r.gpu));
  }

  /// Makes records of the copy and the read of this shape's softmax, once per run.
  void add_ceilings(const SweepRecord& of, Side& side) {
    if (of.op != "softmax" || of.backend != "cuda") return;
    const auto add = [&](const char* op, const Timing* t, std::int64_t bytes) {
      SweepRecord c = of;
      c.key = std::string(op) + "@cuda";
      c.role = "ceiling";
      c.op = op;
      c.bytes = bytes;
      c.claimed_loads = c.claimed_stores = std::nullopt;
      c.verified = Status::unsupported;
      c.verified_reason = "moves bytes, computes nothing";
      c.verified_elements = 0;
      c.max_ulp = c.max_utilisation = std::nullopt;
      c.ci_low_us = c.ci_high_us = c.fastest_us = std::nullopt;
      if (!t || (!options_.again && file_.find(identity(c))) || !ceilings_.insert(identity(c)).second) return;
      put_timing(c, *t);
      c.launches_per_sample = t->launches_per_sample;
      c.cold = t->cold;
      c.status = Status::pass, c.once = t->once;
      c.reason = t->once ? too_long() : std::string();
      put_rates(c, side.rig().machine());
      if (bytes == 0)
        c.gb_per_s = c.share_of_datasheet = c.share_of_copy = c.share_of_read = c.accesses_at_copy_speed =
            std::nullopt;
      file_.add(c);
    };
    add("copy", side.ceilings().copy(of.bytes), of.bytes);
    add("memcpy", side.ceilings().memcpy(of.bytes), of.bytes);
    add("read", side.ceilings().read(of.bytes), of.bytes);
    add("empty", side.ceilings().empty(), 0);
  }

  void count(const SweepRecord& r) {
    ++result_.n[r.status];
    result_.once += r.timed() && r.once;
  }

  const SweepOptions& options_;
  SweepInputs inputs_;
  FactFile<SweepRecord> file_;
  // On the host executor a judgement would take the cores on which launches are timed.
  Side device_{true, true}, host_{false, options_.judge_beside_host};
  std::set<std::string> ceilings_;  // those that this run has recorded
  std::set<std::string> machines_;  // backends whose records were compared with this machine
  std::deque<std::future<SweepRecord>> pending_;
  SweepResult result_;
};

}  // namespace

SweepRecord blank_sweep_record(const SweepJob& j, const SweepOptions& options) {
  const Variant& v = j.subject->variant;
  const Problem p = problem_of(j);
  SweepRecord r;
  r.key = v.key();
  r.role = j.subject->role;
  r.backend = !v.launcher ? name(v.backend) : name(on_device(v) ? Backend::cuda : Backend::host);
  r.op = name(p.op);
  r.dtype = name(v.dtype);
  r.rows = p.rows;
  r.V = p.V;
  r.k = j.pick.k, r.threshold = j.pick.threshold;
  r.bytes = compulsory_bytes(p);
  // A claim of accesses is of sets that fit a kernel's candidates. At the usual thresholds most are larger.
  if (j.subject->role == "variant" && !keeps_a_set(p.op)) {
    r.claimed_loads = v.claim.loads(r.V);
    r.claimed_stores = v.claim.stores(r.V);
  }
  r.family = options.family;
  r.seed = options.seed;
  if (!v.origin.empty())
    r.reproduce = "assay adopt " + v.origin;
  else
    r.reproduce = fmt::format("assay sweep --key {}{} --family {} --seed {} --again", shell_quoted(r.key),
                              options_of(p.op, r), shell_quoted(r.family), r.seed);
  return r;
}

SweepResult run_sweep(const std::vector<SweepJob>& plan, const SweepOptions& options,
                      const std::filesystem::path& folder) {
  SweepResult result = Sweep(options, folder).run(plan);
  result.records = records_of_folder(folder);
  return result;
}

namespace {

/// Share of the relevant ceiling: the read if there are few outputs, otherwise the copy.
std::optional<double> share(const SweepRecord& r) {
  return reads_only(r) ? r.share_of_read : r.share_of_copy;
}

/// If launching takes a large part of the time, the share says nothing about the kernel.
bool large_enough(const SweepRecord& r) {
  return !r.empty_us || !r.copy_us || *r.copy_us >= 10 * *r.empty_us;
}

}  // namespace

std::string seconds_line(const SweepSeconds& s) {
  return fmt::format(
      "seconds: {:.1f} in all: inputs {:.1f}, verification {:.1f}, timing {:.1f}, ceilings {:.1f}, files "
      "{:.1f}, waiting for "
      "judgements {:.1f}, rest {:.1f}\n",
      s.all, s.inputs, s.verification, s.timing, s.ceilings, s.files, s.waiting, s.rest());
}

bool sweep_passed(const SweepResult& r) { return r.n[Status::fail] == 0 && r.n[Status::pass] > 0; }

std::string sweep_sentence(const SweepResult& r) {
  return fmt::format("{} of {} planned configurations timed and verified, {} failed{}", r.n[Status::pass],
                     r.planned, r.n[Status::fail], r.stopped.empty() ? "" : "; stopped: " + r.stopped);
}

std::string sweep_outcome(const SweepResult& r, const std::string& part) {
  const bool passed = part.empty() ? sweep_passed(r) : r.n[Status::fail] == 0;
  std::string s = fmt::format("{}{}: {}\n", pass_or_fail(passed), part.empty() ? "" : " (" + part + ")",
                              sweep_sentence(r));
  s += fmt::format(
      "{} planned ({} in --out before), {} measured, {} once, {} unsupported, {} not run, {} failed\n",
      r.planned, r.had, r.measured(), r.once, r.n[Status::unsupported], r.n[Status::not_run],
      r.n[Status::fail]);
  s += seconds_line(r.seconds);
  std::int64_t unjudged = 0;
  std::vector<const SweepRecord*> worst;
  for (const SweepRecord& one : r.records) {
    const bool timed = one.timed();
    unjudged += timed && one.role != "ceiling" && one.verified == Status::unsupported;
    if (one.status == Status::fail || (timed && one.role == "variant" && share(one) && large_enough(one)))
      worst.push_back(&one);
  }
  if (unjudged > 0) s += fmt::format("{} timed configurations lie outside what can be judged\n", unjudged);
  const auto rank = [](const SweepRecord* one) { return one->status == Status::fail ? -1.0 : *share(*one); };
  std::stable_sort(worst.begin(), worst.end(),
                   [&](const SweepRecord* a, const SweepRecord* b) { return rank(a) < rank(b); });
  for (std::size_t i = 0; i < worst.size() && i < 3; ++i) {
    const SweepRecord& one = *worst[i];
    if (one.status == Status::fail)
      s += fmt::format("  failed: {}: {}\n", identity(one), one.reason);
    else
      s += fmt::format("  slowest: {}: {:.4g} us, {:.3g} % of the machine's {} of the same bytes\n",
                       identity(one), *one.median_us, 100 * *share(one),
                       share(one) == one.share_of_copy ? "copy" : "read");
    s += "    " + one.reproduce + "\n";
  }
  return s;
}

}  // namespace assay

#include "reports/sweep/engine.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <set>

#include "accuracy/case/job.hpp"
#include "accuracy/reproduce.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reports/build_info.hpp"
#include "reports/sweep/data/sweep_file.hpp"
#include "reports/sweep/inputs.hpp"
#include "reports/sweep/rig/rig.hpp"
#include "reports/sweep/rig/rules.hpp"
#include "reports/sweep/timing.hpp"
#include "reports/sweep/verify.hpp"
#include "reports/sweep_page/write_page.hpp"

namespace assay {
namespace {

Problem problem_of(const SweepJob& j) {
  return problem_of(j.subject->variant, j.subject->variant.op, j.rows, j.V, j.k, j.V);
}

std::string too_long() { return "its first launch took " + too_long_words() + ": one sample"; }

/// The machine of one backend. It is opened at its first job, and not used again once it is lost.
class Side {
 public:
  explicit Side(bool device) : device_(device) {}
  /// Throws std::runtime_error if there is no such machine.
  void open() {
    if (rig_) return;
    rig_ = device_ ? make_device_rig() : make_host_rig();
    ceilings_ = std::make_unique<Ceilings>(*rig_);
  }
  Rig& rig() { return *rig_; }
  Ceilings& ceilings() { return *ceilings_; }
  bool opened() const { return rig_ != nullptr; }
  /// True at the first call for a key.
  bool first_of(const std::string& key) { return seen_.insert(key).second; }

 private:
  bool device_;
  std::unique_ptr<Rig> rig_;
  std::unique_ptr<Ceilings> ceilings_;
  std::set<std::string> seen_;
};

void put_machine(SweepRecord& r, Rig& rig) {
  const Machine& m = rig.machine();
  r.gpu = m.name;
  r.driver = m.driver;
  r.cuda = m.cuda;
  r.compiler = m.compiler;
  r.flags = m.flags;
  r.sm_clock_mhz = m.sm_clock_mhz;
  r.mem_clock_mhz = m.mem_clock_mhz;
  r.commit = build_info::commit;
}

void put_rates(SweepRecord& r, const Machine& m) {
  if (!r.median_us || !(*r.median_us > 0)) return;
  const auto bytes = static_cast<double>(r.bytes);
  r.gb_per_s = bytes / *r.median_us / 1e3;
  if (m.datasheet_gb_per_s) r.share_of_datasheet = *r.gb_per_s / *m.datasheet_gb_per_s;
  if (r.copy_us) {
    r.share_of_copy = *r.copy_us / *r.median_us;
    if (const auto dtype = parse_dtype(r.dtype); dtype && r.rows > 0 && r.V > 0) {
      const double copied = bytes / *r.copy_us;
      r.accesses_at_copy_speed =
          *r.median_us * copied /
          (static_cast<double>(r.rows) * static_cast<double>(r.V) * static_cast<double>(size_of(*dtype)));
    }
  }
  if (r.read_us) r.share_of_read = *r.read_us / *r.median_us;
}

void put_verification(SweepRecord& r, const Verification& v) {
  r.verified = v.verdict;
  r.verified_reason = v.reason;
  r.verified_elements = v.elements;
  r.max_ulp = v.max_ulp;
  r.max_utilisation = v.max_utilisation;
}

/// Verifies, times, and verifies again. Throws as the rig does.
void measure(SweepRecord& r, const SweepJob& j, Side& side, SweepInputs& inputs) {
  Rig& rig = side.rig();
  const Variant& v = j.subject->variant;
  const Problem p = problem_of(j);
  if (selects(p.op) && p.k > v.max_k)
    throw SweepUnsupported(fmt::format("k = {} exceeds the variant's {}", p.k, v.max_k));
  if (const std::string why = beyond_limits(v, p); !why.empty()) throw SweepUnsupported("domain: " + why);
  if (!applies(inputs.family(), v.dtype, p.V))
    throw SweepUnsupported(fmt::format("family {} has no rows of V = {}", inputs.family().name, p.V));
  const std::size_t room = room_for(v, p).all(), memory = rig.machine().memory_bytes;
  if (room > memory)
    throw SweepUnsupported(fmt::format("needs {:.1f} GB of memory, there are {:.1f}",
                                       static_cast<double>(room) / 1e9, static_cast<double>(memory) / 1e9));
  const bool large = room > memory / 2;
  rig.prepare(v, p, inputs.tile(v.dtype, p.V, p.rows));
  r.cold = rig.cold();
  r.distinct_rows = inputs.distinct_rows(p.V, p.rows);
  rig.poison();
  double first = rig.run_us(1);
  // The first launch of a kernel in a process also loads its code, so it is repeated.
  if (side.first_of(r.key) && first > kTimingRules.too_long_us) first = rig.run_us(1);
  const bool once = large || first > kTimingRules.too_long_us;
  const auto verified = [&] {
    Verification v_now = verify_outputs(rig, v, p, inputs);
    if (v_now.verdict != "fail" && !rig.logits_intact())
      v_now = {"fail", "the logits were changed", 0, {}, {}};
    return v_now;
  };
  const Verification before = verified();
  put_verification(r, before);
  if (before.verdict == "fail") throw std::runtime_error("verification: " + before.reason);
  if (!once) rig.poison();
  // With a single launch, the judged outputs are those of the timed launch.
  const Timing t = once ? timed_once(first) : time_launches(rig);
  r.sm_clock_now_mhz = rig.sm_clock_now_mhz();
  const Verification both = once ? before : combined(before, verified());
  put_verification(r, both);
  if (both.verdict == "fail") throw std::runtime_error("verification after the timing: " + both.reason);
  put_timing(r, t);
  if (const Timing* c = side.ceilings().copy(r.bytes)) r.copy_us = c->median_us();
  if (const Timing* c = side.ceilings().read(r.bytes)) r.read_us = c->median_us();
  if (const Timing* c = side.ceilings().empty()) r.empty_us = c->median_us();
  put_rates(r, rig.machine());
  r.status = t.once ? "once" : "measured";
  if (t.once) r.reason = large ? "its buffers exceed half the memory: one sample" : too_long();
}

class Sweep {
 public:
  Sweep(const SweepOptions& options, const std::filesystem::path& folder)
      : options_(options), inputs_(options.family, options.seed), file_(folder / "sweep.jsonl") {}

  SweepResult run(const std::vector<SweepJob>& plan) {
    const auto begin = std::chrono::steady_clock::now();
    result_.planned = static_cast<std::int64_t>(plan.size());
    std::int64_t done = 0;
    for (const SweepJob& j : plan) {
      SweepRecord r = blank_sweep_record(j, options_);
      const SweepRecord* const had = options_.again ? nullptr : file_.find(identity(r));
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      if (result_.stopped.empty() && options_.budget_seconds > 0 && spent.count() > options_.budget_seconds)
        result_.stopped = fmt::format("the budget of {:g} s was spent", options_.budget_seconds);
      if (had && had->status != "not_run") {
        ++result_.had;
        count(had->status);
      } else {
        run_one(r, j);
        count(r.status);
        // With --again, a configuration that was not reached keeps its old record.
        const SweepRecord* const known = file_.find(identity(r));
        if (r.status != "not_run" || !known || known->status == "not_run") file_.add(r);
      }
      if (options_.progress) options_.progress(++done, result_.planned);
    }
    file_.compact();
    return std::move(result_);
  }

 private:
  void run_one(SweepRecord& r, const SweepJob& j) {
    const Variant& v = j.subject->variant;
    Side& side = v.backend == Backend::cuda ? device_ : host_;
    const std::string cannot = !result_.stopped.empty()      ? result_.stopped
                               : !j.subject->missing.empty() ? j.subject->missing
                                                             : unavailable_reason(v.backend);
    r.reason = cannot;
    if (!cannot.empty()) return;
    try {
      side.open();
      put_machine(r, side.rig());
      same_machine(r);
      measure(r, j, side, inputs_);
      add_ceilings(r, side);
    } catch (const SweepUnsupported& e) {
      r.status = "unsupported";
      r.reason = e.what();
    } catch (const InputError&) {
      throw;
    } catch (const std::exception& e) {
      r.status = "failed";
      r.reason = e.what();
      if (side.opened() && !side.rig().alive())
        result_.stopped = r.key + " left the GPU unusable for this process: run again to continue";
    }
  }

  /// A file's shares are of one machine, so a record of another machine is refused.
  void same_machine(const SweepRecord& r) {
    for (const SweepRecord& o : file_.records())
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
      c.verified = "not_judged";
      c.verified_reason = "moves bytes, computes nothing";
      c.verified_elements = 0;
      c.max_ulp = c.max_utilisation = std::nullopt;
      c.ci_low_us = c.ci_high_us = std::nullopt;
      if (!t || (!options_.again && file_.find(identity(c))) || !ceilings_.insert(identity(c)).second) return;
      put_timing(c, *t);
      c.cold = t->cold;
      c.status = t->once ? "once" : "measured";
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

  void count(const std::string& status) {
    if (status == "measured") ++result_.measured;
    if (status == "once") ++result_.once;
    if (status == "unsupported") ++result_.unsupported;
    if (status == "not_run") ++result_.not_run;
    if (status == "failed") ++result_.failed;
  }

  const SweepOptions& options_;
  SweepInputs inputs_;
  SweepFile file_;
  Side device_{true}, host_{false};
  std::set<std::string> ceilings_;  // those that this run has recorded
  SweepResult result_;
};

}  // namespace

SweepRecord blank_sweep_record(const SweepJob& j, const SweepOptions& options) {
  const Variant& v = j.subject->variant;
  const Problem p = problem_of(j);
  SweepRecord r;
  r.key = v.key();
  r.role = j.subject->role;
  r.backend = name(v.backend);
  r.op = name(p.op);
  r.dtype = name(v.dtype);
  r.rows = p.rows;
  r.V = p.V;
  r.k = p.k;
  r.bytes = compulsory_bytes(p);
  if (j.subject->role == "variant") {
    r.claimed_loads = v.claim.loads(r.V);
    r.claimed_stores = v.claim.stores(r.V);
  }
  r.family = options.family;
  r.seed = options.seed;
  r.reproduce = fmt::format("assay sweep --key {} --V {} --rows {}{} --family {} --seed {} --again",
                            shell_quoted(r.key), r.V, r.rows, r.k > 0 ? fmt::format(" --k {}", r.k) : "",
                            shell_quoted(r.family), r.seed);
  return r;
}

SweepResult run_sweep(const std::vector<SweepJob>& plan, const SweepOptions& options,
                      const std::filesystem::path& folder) {
  SweepResult result = Sweep(options, folder).run(plan);
  result.records = records_of_folder(folder);
  return result;
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/adopt/steps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "accuracy/case/case.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/adapter/compile/one_file.hpp"
#include "kernels/candidate.hpp"
#include "kernels/device.hpp"
#include "kernels/isolation/timed.hpp"
#include "reference/hash/sha256.hpp"
#include "reports/adopt/functions_used.hpp"
#include "reports/cli/fuzz/fuzz_target.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/data/functions_report.hpp"
#include "reports/data/html.hpp"
#include "reports/data/say.hpp"
#include "reports/records/record_lines.hpp"
#include "reports/sweep/engine.hpp"
#include "reports/sweep/measurement.hpp"
#include "reports/sweep/outcome.hpp"
#include "reports/sweep_page/write_page.hpp"
#include "reports/targets/source_candidates.hpp"

namespace assay {
namespace {

void add_words(std::string& all, const std::string& more) { all += (all.empty() ? "" : "; ") + more; }

/// Empty, or why fuzz has no genomes for the kernel.
std::string why_not_searched(const Variant& v) {
  if (const std::string why = cannot_launch(v); !why.empty()) return v.key() + ": " + why;
  if (const std::string other = not_plain_rows(v.claim, v.op); !other.empty())
    return v.key() + ": genomes are rows of logits: " + other;
  return {};
}

/// Empty, or why no speed is measured.
std::string why_not_timed(const Variant& v, bool host_too) {
  if (v.backend == Backend::plugin) {
    const auto* const timed = dynamic_cast<const TimedLauncher*>(v.launcher.get());
    if (!timed) return v.key() + ": its launches are not timed";
    if (!v.operands.none()) return v.key() + ": it takes operands, and the sweep has rows of logits";
    if (const std::string other = not_plain_rows(v.claim, v.op); !other.empty())
      return v.key() + ": " + other;
    const std::string why = timed->cannot_time();
    return why.empty() ? "" : v.key() + ": " + why;
  }
  if (on_host(v.backend) && !host_too)
    return v.key() + ": runs on the host executor, and the speed of that is not the kernel's";
  const std::string why = unavailable_reason(v.backend);
  return why.empty() ? "" : v.key() + ": " + why;
}

/// The plan, and for kernels whose limits it misses the longest row that they take.
std::vector<SweepJob> plan_within_limits(const SweepSelection& selection) {
  std::vector<SweepJob> plan = make_sweep_plan(selection);
  const auto fits = [](const SweepJob& j) {
    return beyond_limits(j.subject->variant, problem_of(j)).empty();
  };
  for (const Subject* s : selection.others) {
    if (std::any_of(plan.begin(), plan.end(), [&](const SweepJob& j) { return j.subject == s && fits(j); }))
      continue;
    const Limits& l = s->variant.limits;
    const std::int64_t multiple = std::max<std::int64_t>(1, l.V_multiple);
    const std::int64_t most = l.max_V > 0 ? l.max_V : 32768;
    const std::int64_t V = l.V_in.count > 0 ? l.V_in.all[static_cast<std::size_t>(l.V_in.count) - 1]
                                            : std::max(multiple, most / multiple * multiple);
    const Op op = s->variant.op;
    const int k = selects(op) ? 1 : keeps_a_set(op) ? usual_k(op) : 0;
    for (const std::int64_t rows : {4000, 10, 1})
      if (const SweepJob j{s, rows, V, k}; fits(j)) plan.push_back(j);
  }
  return plan;
}

/// By the claim of a kernel of this program; by the source of a file; nothing is known of any other.
FunctionsUsed used_by(const Target& t, Certificate& c) {
  const std::optional<OneFile> file = source_of(t.variant);
  if (t.variant.backend != Backend::plugin || !file) return functions_used(t.variant);
  FunctionsUsed used = functions_named(t.variant, texts_of(*file), file->nvcc_flags);
  if (!used.all.empty())
    c.not_proved.push_back("functions: " + t.variant.key() +
                           ": those that its source names were tested; which of them run is not known");
  if (!used.untested.empty())
    c.not_proved.push_back(fmt::format("functions: {}: its source names {}, which is not tested on its own",
                                       t.variant.key(), fmt::join(used.untested, ", ")));
  return used;
}

/// What the check saw of the accuracy of exp and of division, and of the order of the sum.
std::string measured_in(const std::vector<Record>& checked, const std::string& key) {
  for (const Record& r : checked)
    if (r.key == key && r.family == kProbeFamily && !r.behaves_like.empty())
      return "; the check measured: " + r.behaves_like;
  return {};
}

/// The configuration without a time that says most: one that failed, then one that did not run, then one that
/// is outside the kernel's limits. Empty if there is none.
std::string first_untimed(const std::vector<SweepRecord>& all) {
  for (const char* const status : {"failed", "not_run", "unsupported"})
    for (const SweepRecord& r : all)
      if (r.status == status && !r.reason.empty())
        return fmt::format("{}, {} rows, V = {}: {}", r.key, r.rows, r.V, r.reason);
  return {};
}

/// `absent`: which kernels the step says nothing of, and why.
void finish_step(CertifiedStep step, const std::string& absent, Certificate& c) {
  if (step.state == StepState::not_run)
    step.words = absent.empty() ? step.words : absent;
  else if (!absent.empty())
    c.not_proved.push_back(step.name + ": " + absent);
  c.steps.push_back(std::move(step));
}

}  // namespace

void fuzz_step(const std::vector<Target>& targets, const StepOptions& o, const OutFolder& out,
               Journal& journal, Certificate& c) {
  CertifiedStep step{.name = "fuzz", .data = "fuzz/records.jsonl"};
  step.seed = o.seed;
  FuzzOptions f;
  f.time = o.fuzz_time;
  f.evaluations = o.evaluations;
  f.seed.value = o.seed;
  f.jobs = o.threads;
  const std::filesystem::path folder = out / "fuzz";
  prepare_folder(folder / "corpus");
  std::string records, absent;
  std::size_t found = 0, searched = 0, judged = 0;
  Sha256 corpora;
  for (const Target& t : targets) {
    if (const std::string why = why_not_searched(t.variant); !why.empty()) {
      add_words(absent, why);
      continue;
    }
    const FuzzOutcome one = fuzz_target(t, t.variant.op, f, {}, folder, journal);
    flush_output();
    ++searched;
    judged += one.judged;
    found += one.found;
    records += one.records;
    if (step.command.empty()) step.command = one.first;
    step.planned += o.evaluations > 0 ? o.evaluations : one.evaluations;
    step.executed += one.evaluations;
    step.seconds += one.seconds;
    corpora.add(one.corpus);
    write_files({{fuzz::corpus_file(folder / "corpus", t.unique_name(), {}), one.corpus}});
    add_words(
        step.words,
        fmt::format("{}: {} inputs, {} passed{}, largest share of a bound {:.3f}{}", t.variant.key(),
                    grouped(one.evaluations), grouped(one.passed),
                    one.coarse > 0 ? fmt::format(", {} too coarse to judge", grouped(one.coarse)) : "",
                    one.largest_share, one.found > 0 ? fmt::format(", {} ways to fail", one.found) : ""));
    if (const std::string words = words_of_branches(one); !words.empty()) add_words(step.words, words);
  }
  records = with_run(records, environment());
  write_files({{folder / "records.jsonl", records}});
  step.sha256 = sha256_of(records);
  if (searched > 0) step.corpus_sha256 = corpora.hex();
  step.state = found > 0           ? StepState::failed
               : searched == 0     ? StepState::not_run
               : judged < searched ? StepState::undecided
                                   : StepState::passed;
  if (judged < searched) add_words(step.words, "of a kernel nothing was judged");
  finish_step(std::move(step), absent, c);
}

void functions_step(const std::vector<Target>& targets, const std::vector<Record>& checked,
                    const StepOptions& o, const OutFolder& out, Certificate& c) {
  CertifiedStep step{.name = "functions"};
  std::vector<const functions::Function*> all;
  std::string none;
  for (const Target& t : targets) {
    const FunctionsUsed used = used_by(t, c);
    if (used.all.empty())
      add_words(none, t.variant.key() + ": " + used.why_none + measured_in(checked, t.variant.key()));
    for (const functions::Function* f : used.all)
      if (std::find(all.begin(), all.end(), f) == all.end()) all.push_back(f);
  }
  if (all.empty()) return finish_step(std::move(step), none, c);
  FunctionsReport r;
  r.environment = environment();
  for (const functions::Function* f : all) {
    say("function {}\n", f->id());
    r.functions.push_back(measure(*f, {f->backend == Backend::cuda ? 1 : o.stride, o.threads}));
    const FunctionResult& one = r.functions.back();
    r.seconds += one.seconds;
    ++step.planned;
    step.executed += one.status != "not_run";
    if (one.status == "not_run") add_words(none, f->id() + ": " + one.reason);
    add_words(step.words,
              fmt::format("{}: {}{}{}", f->id(), one.status, one.reason.empty() ? "" : ": " + one.reason,
                          on_every_argument(one) ? ", every argument" : ", a sample"));
  }
  step.seconds = r.seconds;
  const bool failed = std::any_of(r.functions.begin(), r.functions.end(),
                                  [](const FunctionResult& f) { return f.status == "fail"; });
  step.state = failed ? StepState::failed : step.executed == 0 ? StepState::not_run : StepState::passed;
  const std::string text = render_functions_json(r);
  prepare_folder(out / "functions");
  write_files({{out / "functions" / "functions.json", text},
               {out / "functions" / "functions.html", render_functions_page(r)}});
  step.data = "functions/functions.json";
  step.sha256 = sha256_of(text);
  finish_step(std::move(step), none, c);
}

void set_sweep_aside(const OutFolder& out) {
  const std::filesystem::path file = out / "sweep" / "sweep.jsonl";
  if (!std::filesystem::exists(file)) return;
  std::filesystem::path old = file;
  old.replace_filename("sweep.old.jsonl");
  std::filesystem::rename(file, old);
}

void sweep_step(const std::vector<Target>& targets, const StepOptions& o, const OutFolder& out,
                Certificate& c) {
  CertifiedStep step{.name = "sweep"};
  step.seed = o.seed;
  SweepSelection selection;
  selection.set = SweepSet::quick;
  selection.host = o.host_speed;
  selection.sizes = o.sweep_sizes;
  if (o.host_speed) selection.rows = {4};
  std::string absent;
  std::vector<Subject> foreign;
  for (const Target& t : targets) {
    if (const std::string why = why_not_timed(t.variant, o.host_speed); !why.empty()) {
      add_words(absent, why);
      continue;
    }
    if (t.variant.launcher)
      foreign.push_back({t.variant});
    else
      selection.keys.push_back(t.variant.key());
  }
  for (const Subject& s : foreign) selection.others.push_back(&s);
  if (foreign.empty() && selection.keys.empty()) return finish_step(std::move(step), absent, c);
  SweepOptions sweep;
  sweep.seed = o.seed;
  sweep.budget_seconds = o.sweep_seconds;
  const std::filesystem::path folder = out / "sweep";
  prepare_folder(folder);
  const std::vector<SweepJob> plan = plan_within_limits(selection);
  if (plan.empty()) {
    add_words(absent, "no shape of the sweep is within its limits");
    return finish_step(std::move(step), absent, c);
  }
  SweepResult result;
  try {
    result = run_sweep(plan, sweep, folder);
  } catch (const InputError& e) {
    // What is left there can not be used: the other steps need not be lost for that.
    add_words(absent, e.what());
    return finish_step(std::move(step), absent, c);
  }
  write_sweep_page(folder);
  step.planned = result.planned;
  step.executed = result.measured + result.once;
  add_words(step.words,
            fmt::format("{} of {} configurations were timed, {} failed{}", step.executed, step.planned,
                        result.failed, result.stopped.empty() ? "" : ": " + result.stopped));
  bool wrong = false;
  for (const SweepRecord& r : result.of_plan) {
    if (r.status == "failed") {
      if (step.command.empty()) step.command = r.reproduce;
      // A worker that ends while it is timed shows that something is wrong, but not with which outputs.
      wrong = wrong || r.verified == "fail" || !r.key.ends_with(name(Backend::plugin));
    }
    if (!r.median_us) continue;
    c.speed.push_back(
        {r.key, r.verified, r.rows, r.V, r.k, r.median_us, r.gb_per_s, r.share_of_copy, share_of_fastest(r)});
  }
  step.state = wrong                ? StepState::failed
               : result.failed > 0  ? StepState::undecided
               : step.executed == 0 ? StepState::not_run
                                    : StepState::passed;
  if (const std::string why = first_untimed(result.of_plan); step.state != StepState::passed && !why.empty())
    add_words(step.words, why);
  step.data = "sweep/sweep.jsonl";
  step.sha256 = sha256_of_file(folder / "sweep.jsonl");
  step.seconds = result.seconds.all;
  finish_step(std::move(step), absent, c);
}

}  // namespace assay

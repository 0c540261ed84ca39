// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/adopt/steps.hpp"

#include <algorithm>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/case/case.hpp"
#include "accuracy/functions/result_fields.hpp"
#include "fuzz/search/corpus.hpp"
#include "kernels/adapter/compile/one_file.hpp"
#include "kernels/candidate.hpp"
#include "kernels/device.hpp"
#include "reports/adopt/functions_used.hpp"
#include "reports/cli/fuzz/fuzz_target.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/data/functions_report.hpp"
#include "reports/data/say.hpp"
#include "reports/records/record_lines.hpp"
#include "reports/sweep/engine.hpp"
#include "reports/sweep/measurement.hpp"
#include "reports/sweep_page/page.hpp"
#include "reports/targets/candidates.hpp"

namespace assay {
namespace {

void add_words(std::string& all, const std::string& more) { all += (all.empty() ? "" : "; ") + more; }

/// Empty, or why fuzz has no genomes for the kernel.
std::string why_not_searched(const Variant& v) {
  if (const std::string why = cannot_launch(v); !why.empty()) return v.key() + ": " + why;
  if (const std::string other = not_plain_rows(v, v.op); !other.empty())
    return v.key() + ": genomes are rows of logits: " + other;
  return {};
}

/// Empty, or why no speed is measured.
std::string why_not_timed(const Variant& v, bool host_too) {
  if (v.backend == Backend::plugin) {
    if (!v.operands.none()) return v.key() + ": it takes operands, and the sweep has rows of logits";
    if (const std::string other = not_plain_rows(v, v.op); !other.empty()) return v.key() + ": " + other;
    const std::string why = v.launcher->cannot_time();
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
    const Pick pick = selects(op) ? Pick(1) : usual_pick(op);
    for (const std::int64_t rows : {4000, 10, 1})
      if (const SweepJob j{s, rows, V, pick}; fits(j)) plan.push_back(j);
  }
  return plan;
}

/// By the claim of a kernel of this program; by the source of a file; nothing is known of any other.
FunctionsUsed used_by(const Target& t, bool& named) {
  const std::optional<OneFile> file = source_of(t.variant);
  named = t.variant.backend == Backend::plugin && file;
  return named ? functions_named(t.variant, texts_of(*file), file->nvcc_flags) : functions_used(t.variant);
}

}  // namespace

void fuzz_step(const std::vector<Target>& targets, const StepOptions& o, RunFrame& run,
               AdoptionFacts& facts) {
  FuzzOptions f;
  f.time = o.fuzz_time;
  f.evaluations = o.evaluations;
  f.seed.value = o.seed;
  f.jobs = o.threads;
  const std::filesystem::path folder = run / "fuzz";
  prepare_folder(folder / "corpus");
  std::string records;
  std::vector<const Target*> searched;
  for (const Target& t : targets)
    if (const std::string why = why_not_searched(t.variant); !why.empty())
      add_words(facts.not_searched, why);
    else
      searched.push_back(&t);
  const auto outcomes = run_searches(searched, run, [&](const Target& t) {
    return fuzz_target(t, t.variant.op, f, {}, folder, run.journal());
  });
  for (std::size_t i = 0; i < searched.size(); ++i) {
    const Target& t = *searched[i];
    const FuzzOutcome& one = outcomes[i];
    records += one.records;
    write_files({{fuzz::corpus_file(folder / "corpus", t.unique_name()), one.corpus}});
    facts.searched.push_back({.key = t.variant.key(),
                              .planned = o.evaluations > 0 ? o.evaluations : one.evaluations,
                              .evaluations = one.evaluations,
                              .passed = one.passed,
                              .coarse = one.coarse,
                              .found = static_cast<std::int64_t>(one.found),
                              .judged = one.judged,
                              .largest_share = one.largest_share,
                              .seconds = one.seconds,
                              .branches = words_of_branches(one),
                              .first = one.first});
  }
  write_files({{folder / "records.jsonl", with_run(records, environment())}});
}

void functions_step(const std::vector<Target>& targets, const StepOptions& o, RunFrame& run,
                    AdoptionFacts& facts) {
  std::vector<const functions::Function*> all;
  for (const Target& t : targets) {
    UsedFacts& fact = facts.used.emplace_back();
    const FunctionsUsed used = used_by(t, fact.named);
    fact.key = t.variant.key(), fact.why_none = used.why_none, fact.untested = used.untested;
    fact.named = fact.named && !used.all.empty();
    for (const functions::Function* f : used.all) {
      fact.tested.push_back(f->id());
      if (std::find(all.begin(), all.end(), f) == all.end()) all.push_back(f);
    }
  }
  if (all.empty()) return;
  FunctionsReport r;
  r.environment = environment();
  std::vector<RunUnit> units;
  for (const functions::Function* f : all)
    units.push_back({.name = "function " + f->id(), .exclusive = true});
  r.functions = run.units<FunctionResult>(units, 1, [&](std::size_t i) {
    say("{}\n", units[i].name);
    return measure(*all[i], {all[i]->backend == Backend::cuda ? 1 : o.stride, o.threads});
  });
  for (const FunctionResult& f : r.functions) r.seconds += f.seconds;
  const std::filesystem::path folder = run / "functions";
  prepare_folder(folder);
  write_files({{folder / "functions.json", render_functions_json(r)},
               {folder / "functions.html", render_functions_page(r)}});
}

void set_sweep_aside(const std::filesystem::path& out) {
  const std::filesystem::path file = out / "sweep" / "sweep.jsonl";
  if (!std::filesystem::exists(file)) return;
  std::filesystem::path old = file;
  old.replace_filename("sweep.old.jsonl");
  std::filesystem::rename(file, old);
}

void sweep_step(const std::vector<Target>& targets, const StepOptions& o, const std::filesystem::path& out,
                AdoptionFacts& facts) {
  SweepSelection selection;
  selection.set = SweepSet::quick;
  selection.host = o.host_speed;
  selection.sizes = o.sweep_sizes;
  if (o.host_speed) selection.rows = {4};
  std::vector<Subject> foreign;
  for (const Target& t : targets) {
    if (const std::string why = why_not_timed(t.variant, o.host_speed); !why.empty())
      add_words(facts.not_timed, why);
    else if (t.variant.launcher)
      foreign.push_back({t.variant});
    else
      selection.keys.push_back(t.variant.key());
  }
  for (const Subject& s : foreign) selection.others.push_back(&s);
  if (foreign.empty() && selection.keys.empty()) return;
  SweepOptions sweep;
  sweep.seed = o.seed;
  sweep.budget_seconds = o.sweep_seconds;
  const std::filesystem::path folder = out / "sweep";
  prepare_folder(folder);
  const std::vector<SweepJob> plan = plan_within_limits(selection);
  if (plan.empty()) return add_words(facts.not_timed, "no shape of the sweep is within its limits");
  try {
    const SweepResult result = run_sweep(plan, sweep, folder);
    for (const SweepRecord& r : result.of_plan) facts.timed.push_back(identity(r));
    facts.sweep_stopped = result.stopped;
    facts.sweep_seconds = result.seconds.all;
  } catch (const InputError& e) {
    // What is left there can not be used: the other steps need not be lost for that.
    return add_words(facts.not_timed, e.what());
  }
  write_sweep_page(folder);
}

}  // namespace assay

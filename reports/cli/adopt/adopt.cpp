// SPDX-License-Identifier: Apache-2.0
// assay adopt: everything that this program can say of a kernel, in one certificate.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/candidate.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"
#include "reports/adopt/certificate_page.hpp"
#include "reports/adopt/conclude.hpp"
#include "reports/cli/adopt/judged_files.hpp"
#include "reports/cli/adopt/loaded.hpp"
#include "reports/cli/adopt/steps.hpp"
#include "reports/cli/check/groups.hpp"
#include "reports/cli/check/run_check.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/fuzz/fuzz_target.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/seed_option.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/out/command_line.hpp"
#include "reports/out/record_journal.hpp"
#include "reports/page/folder/links.hpp"
#include "reports/page/folder/write_report.hpp"
#include "reports/records/record_lines.hpp"
#include "reports/terminal/answer.hpp"
#include "reports/terminal/colour.hpp"

namespace assay {
namespace {

struct AdoptArguments {
  std::string kernel, op, out = "out/adopt", require, budget;
  TargetOptions targets;
  RunSeed seed;
  conformance::ConformanceOptions run;
  StepOptions steps;
  Asked asked;
  AnswerOptions answer;
  bool quick = false, full = false, accept_limits = false, resume = false, shared = false;
  int device = 0;
};

void check_arguments(AdoptArguments& o) {
  if (o.quick && o.full) throw InputError("--quick and --full: give only one of them");
  if (!o.op.empty()) {
    o.run.narrow.op = parse_op(o.op);
    o.targets.source.op = o.op;
    if (!o.run.narrow.op) throw InputError("--op " + o.op + ": unknown operation");
  }
  if (!o.steps.fuzz_time.empty()) seconds_of(o.steps.fuzz_time);
  if (!o.budget.empty()) o.steps.sweep_seconds = seconds_of(o.budget, "--budget");
  o.targets.words = {o.kernel};
  o.run.extent = o.quick  ? conformance::Extent::quick
                 : o.full ? conformance::Extent::full
                          : conformance::Extent::normal;
  o.run.more = groups_of_programs();
  o.run.patience = std::min(1.0, o.targets.timeout_seconds / TargetOptions().timeout_seconds);
  o.steps.threads = o.run.threads;
  if (o.quick) o.steps.stride = 65537;
}

/// Draws the seed, once the kernel's bytes are known: nobody can fit a kernel to its inputs.
void settle_seed(AdoptArguments& o, const OutFolder& out) {
  settle(o.seed, out.path(), o.resume);
  o.run.seed = o.steps.seed = o.seed.value;
  seed_properties(o.run.seed);
}

/// What is known before anything runs.
Certificate begin_certificate(const AdoptArguments& o, std::vector<CertifiedFile> files) {
  Certificate c;
  c.command = command_compared();
  c.made = utc_now();
  c.extent = o.quick ? "quick" : o.full ? "full" : "normal";
  c.only = o.run.only;
  c.seed = o.seed.value;
  c.seed_drawn = o.seed.drawn;
  c.target = certified_target(o.targets);
  c.files = std::move(files);
  return c;
}

/// Runs the check, and writes it into out/check, so that it is there whatever the next steps do.
ReportData check_and_write(const std::vector<Target>& targets, const AdoptArguments& o, const OutFolder& out,
                           Journal& journal, Certificate& c) {
  RecordJournal keeper(journal);
  const std::unique_ptr<DeviceLock> lock = o.shared ? nullptr : lock_device(targets);
  ReportData data = run_check(targets, o.run, o.quick, o.asked, keeper);
  add_seed(data.environment, o.seed);
  prepare_folder(out / "check");
  write_report(
      out / "check", data,
      {{"records.jsonl", lines_of(data.records, data.environment)}, {"contract.json", contracts_of(data)}});
  CertifiedStep step = check_step(data, o.run.seed);
  step.data = "check/records.jsonl";
  step.sha256 = sha256_of_file(out / "check" / "records.jsonl");
  c.steps.push_back(std::move(step));
  for (const auto& [label, value] : data.environment) c.environment.push_back({label, value});
  for (const Target& t : targets) c.kernels.push_back(certified_kernel(t.variant, data));
  c.cases = cases_to_replay(data.records);
  return data;
}

/// For programs: the cases of the check, and the other steps beside them.
VerdictDocument document_of_adoption(const Certificate& c, const ReportData& data) {
  VerdictDocument d = verdict_document("adopt", data, c.exit_status);
  d.verdict = c.verdict;
  d.reason = c.reason;
  for (const CertifiedStep& s : c.steps) {
    if (s.name == "check") continue;
    VerdictCase one{.suite = "steps", .name = s.name, .message = s.words, .reproduce = s.command};
    one.outcome = s.state == StepState::passed    ? CaseOutcome::passed
                  : s.state == StepState::failed  ? CaseOutcome::failed
                  : s.state == StepState::not_run ? CaseOutcome::skipped
                                                  : CaseOutcome::undecided;
    one.bad = one.outcome == CaseOutcome::failed || one.outcome == CaseOutcome::undecided;
    d.cases.push_back(std::move(one));
  }
  return d;
}

/// The kernels with the limits that the check found: a search would find what is outside them.
std::vector<Target> within_contract(std::vector<Target> targets, const ReportData& data) {
  for (Target& t : targets)
    if (const auto at = data.contracts.find(t.variant.key()); at != data.contracts.end())
      t = with_declared(std::move(t), at->second.found);
  return targets;
}

int run_adopt_command(AdoptArguments& o) {
  VerdictOutput answer(o.answer);
  o.asked = {o.targets.source.declare, choose_machine_and_region(o.require, o.device),
             !o.targets.source.entry.empty()};
  check_arguments(o);
  refuse_idle_options(o.targets.words, o.targets.source);
  const std::vector<Target> targets = resolve_targets(o.targets, true);
  std::set<std::string> keys;
  for (const Target& t : targets)
    if (!keys.insert(t.variant.key()).second)
      throw InputError("two targets are called " + t.variant.key() + ": adopt one at a time, or use --name");
  // Without a case there is nothing to certify.
  const auto runs = [](const Target& t) { return !t.died && cannot_launch(t.variant).empty(); };
  if (std::none_of(targets.begin(), targets.end(), runs) && !targets.front().died) {
    std::string why = cannot_launch(targets.front().variant), more = without_gpu_words(targets);
    if (!more.empty()) more.pop_back();
    throw EnvironmentError(o.kernel + ": " + why + (more.empty() ? "" : ": " + more));
  }
  const OutFolder out(o.out);
  std::vector<CertifiedFile> files = judged_files(o.kernel, targets);
  settle_seed(o, out);
  Journal journal(out, o.resume);
  const InterruptNote note(journal.path(), journal.finished());
  if (journal.found() == 0) set_sweep_aside(out);
  Certificate c = begin_certificate(o, std::move(files));
  const ReportData data = check_and_write(targets, o, out, journal, c);
  c.not_proved = open_after_check(c, data);
  for (std::string& what : not_hashed(o.kernel)) c.not_proved.push_back(std::move(what));
  for (std::string& what : left_out_of_source(c.target)) c.not_proved.push_back(std::move(what));
  if (c.steps.front().state == StepState::passed) {
    const std::vector<Target> within = within_contract(targets, data);
    fuzz_step(within, o.steps, out, journal, c);
    functions_step(within, data.records, o.steps, out, c);
    const std::unique_ptr<DeviceLock> lock = o.shared ? nullptr : lock_device(targets);
    sweep_step(within, o.steps, out, c);
  } else {
    for (const char* step : {"fuzz", "functions", "sweep"})
      c.steps.push_back({.name = step, .words = "the check did not pass", .seed = o.run.seed});
  }
  certify_loaded(c, targets);
  conclude(c, o.accept_limits);
  const std::string folder = out.path().string();
  write_files({{out / "certificate.json", render_certificate(c)},
               {out / "certificate.html", render_certificate_page(c)},
               {out / "badge.svg", render_badge(c)},
               {out / "badge.md", badge_line(c, "") + "\n"}});
  link_pages(out.path());
  link_pages(out / "check");
  journal.finish();
  print_verdict(render_certificate_terminal(c));
  tell("{}certificate: {}\npage: {}\nbadge: {}\n", seed_line(data.environment),
       (out / "certificate.json").string(), std::filesystem::absolute(out / "certificate.html").string(),
       badge_line(c, folder));
  return answer.give(document_of_adoption(c, data), out.path(),
                     {"certificate.json", "certificate.html", "badge.svg", "badge.md", "check/records.jsonl",
                      "check/index.html"});
}

}  // namespace

void add_adopt_command(CLI::App& app, int& status) {
  auto o = std::make_shared<AdoptArguments>();
  CLI::App* c =
      app.add_subcommand("adopt", "check, fuzz, functions and sweep of one kernel, in one certificate");
  c->add_option("kernel", o->kernel,
                "as for assay check: a key, PLUGIN.so[#name], FILE.cu, or FILE.py:FUNCTION")
      ->required();
  c->add_flag("--quick", o->quick, "a quick check: seconds instead of a minute or two");
  c->add_flag("--full", o->full, "all cases of the check");
  c->add_option("--only", o->run.only,
                "groups of the check; the certificate says that the others did not run");
  c->add_option(
      "--time", o->steps.fuzz_time,
      "time of the search, for each kernel, as 30s, 5m or 1h (30s, or until --evaluations are made)");
  add_whole(*c, "--evaluations", o->steps.evaluations,
            "inputs that the search tries on each kernel; the same seed gives the same ones", {.least = 1});
  c->add_option("--budget", o->budget, "time of the sweep on a GPU, as 30s or 5m (1m)");
  c->add_option("--declare", o->targets.source.declare, "what the author promises, as for assay check")
      ->join(';');
  c->add_flag(
      "--accept-limits", o->accept_limits,
      "exit 0, not 4, if the kernel is right within limits that nobody declared, or was judged only in "
      "part");
  c->add_option("--op", o->op, "another op of the variant: normalizer");
  add_run_seed(*c, o->seed, "seed of the inputs and of the search");
  add_timeout(*c, o->targets.timeout_seconds,
              "seconds of its own time, not of the clock, after which a launch is hung");
  add_out(*c, o->out, "folder for certificate.json, its page, its badge, and what each step writes")
      ->capture_default_str();
  add_answer_options(*c, o->answer);
  add_resume(*c, o->resume);
  add_threads(*c, o->run.threads);
  add_source_options(*c, o->targets.source);
  add_machine(*c, o->device, o->shared, o->require);
  c->callback([o, &status] { status = run_adopt_command(*o); });
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// assay adopt: everything that this program can say of a kernel, in one certificate.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "kernels/candidate.hpp"
#include "reference/error.hpp"
#include "reports/adopt/certificate_page.hpp"
#include "reports/adopt/conclude.hpp"
#include "reports/adopt/signature.hpp"
#include "reports/cli/adopt/judged_files.hpp"
#include "reports/cli/adopt/loaded.hpp"
#include "reports/cli/adopt/steps.hpp"
#include "reports/cli/check/groups.hpp"
#include "reports/cli/check/run_check.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/fuzz/fuzz_target.hpp"
#include "reports/cli/options.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/out/command_line.hpp"
#include "reports/page/folder/write_report.hpp"
#include "reports/records/record_lines.hpp"
#include "reports/terminal/answer.hpp"

namespace assay {
namespace {

struct AdoptArguments : JudgeOptions {
  AdoptArguments() { frame.out = "out/adopt"; }
  std::string kernel, budget, sign;
  StepOptions steps;
};

/// What is known before anything runs.
AdoptionFacts begin_facts(const AdoptArguments& o, std::vector<CertifiedFile> files,
                          const std::vector<Target>& targets) {
  AdoptionFacts f;
  f.command = command_compared();
  f.made = utc_now();
  f.extent = o.quick ? "quick" : o.full ? "full" : "normal";
  f.only = o.run.only;
  f.seed = o.seed.value;
  f.seed_drawn = o.seed.drawn;
  f.target = certified_target(o.targets);
  f.files = std::move(files);
  f.accept_limits = o.accept_limits;
  for (const Target& t : targets) f.kernels.push_back(described(t.variant));
  for (const std::vector<std::string>& open : {not_hashed(o.kernel), left_out_of_source(f.target)})
    f.open.insert(f.open.end(), open.begin(), open.end());
  return f;
}

/// Runs the check, and writes it into out/check, so that it is there whatever the next steps do.
ReportData check_and_write(const std::vector<Target>& targets, const AdoptArguments& o, const Asked& asked,
                           const std::filesystem::path& folder) {
  const std::unique_ptr<DeviceLock> lock = o.shared ? nullptr : lock_device(targets);
  ReportData data = run_check(targets, o.run, o.quick, asked);
  add_seed(data.environment, o.seed);
  prepare_folder(folder);
  write_report(
      folder, data,
      {{"records.jsonl", lines_of(data.records, data.environment)}, {"contract.json", contracts_of(data)}});
  return data;
}

/// Makes the certificate from the files of the folder, as `assay verify` will do, and signs it.
Certificate write_certificate(const AdoptionFacts& facts, const std::filesystem::path& out,
                              const std::string& key) {
  // The pages of the steps lead to that of the certificate, and their hashes are of what they are then.
  write_files({{out / kFactsFile, render_facts(facts)}, {out / "certificate.html", std::string()}});
  link_pages(out / "check");
  const Certificate c = certificate_in(out, data_in(out));
  const std::string text = render_certificate(c);
  write_files({{out / "certificate.json", text},
               {out / "certificate.html", render_certificate_page(c)},
               {out / "badge.svg", render_badge(c)},
               {out / "badge.md", badge_line(c, "") + "\n"}});
  link_pages(out);
  remove_signature(out / "certificate.json");
  if (!key.empty()) sign(out / "certificate.json", text, key);
  return c;
}

/// For programs: the cases of the check, and the other steps beside them.
VerdictDocument document_of_adoption(const Certificate& c, const ReportData& data) {
  VerdictDocument d = verdict_document("adopt", data, c.exit_status);
  d.verdict = name(c.verdict);
  d.reason = c.reason;
  for (const CertifiedStep& s : c.steps) {
    if (s.name == "check") continue;
    d.cases.push_back({.suite = "steps",
                       .name = s.name,
                       .outcome = s.state,
                       .bad = spoils_a_run(s.state),
                       .message = s.words,
                       .reproduce = s.command});
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
  RunFrame run(o.frame);
  const Asked asked = settle_options(o);
  if (!o.steps.fuzz_time.empty()) seconds_of(o.steps.fuzz_time);
  if (!o.budget.empty()) o.steps.sweep_seconds = seconds_of(o.budget, "--budget");
  o.targets.words = {o.kernel};
  o.steps.threads = o.run.threads;
  if (o.quick) o.steps.stride = 65537;
  refuse_idle_options(o.targets.words, o.targets.source);
  const std::vector<Target> targets = distinct_targets(o, "adopt");
  // Without a case there is nothing to certify.
  const auto runs = [](const Target& t) { return !t.died && cannot_launch(t.variant).empty(); };
  if (std::none_of(targets.begin(), targets.end(), runs) && !targets.front().died) {
    std::string why = cannot_launch(targets.front().variant), more = without_gpu_words(targets);
    if (!more.empty()) more.pop_back();
    throw EnvironmentError(o.kernel + ": " + why + (more.empty() ? "" : ": " + more));
  }
  const std::filesystem::path& out = run.open_folder();
  if (!o.sign.empty()) require_key(o.sign);
  std::vector<CertifiedFile> files = judged_files(o.kernel, targets);
  settle_seed(o, out);
  o.steps.seed = o.seed.value;
  o.run.kept = run.open_journal().kept();
  if (run.journal().found() == 0) set_sweep_aside(out);
  AdoptionFacts facts = begin_facts(o, std::move(files), targets);
  const ReportData data = check_and_write(targets, o, asked, out / "check");
  if (check_step(data, o.run.seed).state == Status::pass) {
    const std::vector<Target> within = within_contract(targets, data);
    fuzz_step(within, o.steps, run, facts);
    functions_step(within, o.steps, run, facts);
    const std::unique_ptr<DeviceLock> lock = o.shared ? nullptr : lock_device(targets);
    sweep_step(within, o.steps, out, facts);
  }
  certify_loaded(facts, targets);
  facts.imports = imports_of(targets);
  const Certificate c = write_certificate(facts, out, o.sign);
  const std::string signature = o.sign.empty() ? "unsigned" : "signed with " + o.sign;
  run.finish({}, std::ssize(data.records), c.exit_status);
  print_verdict(render_certificate_terminal(c) + "  " + signature + "\n");
  tell("{}certificate: {}\npage: {}\nbadge: {}\n", seed_line(data.environment),
       (out / "certificate.json").string(), run.shown("certificate.html"), badge_line(c, out.string()));
  VerdictDocument document = document_of_adoption(c, data);
  document.environment.emplace_back("signature", signature);
  run.wrote({"certificate.json", "certificate.html", "badge.svg", "badge.md", "check/records.jsonl",
             "check/index.html"});
  return run.give(std::move(document));
}

}  // namespace

static void add_adopt_command(CLI::App& app, int& status) {
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
  c->add_option("--sign", o->sign,
                "a key of ssh-keygen, with which certificate.json is signed: certificate.json.sig");
  c->add_option("--declare", o->targets.source.declare, "what the author promises, as for assay check")
      ->join(';');
  c->add_flag(
      "--accept-limits", o->accept_limits,
      "exit 0, not 4, if the kernel is right within limits that nobody declared, or was judged only in "
      "part");
  c->add_option("--op", o->op, "another op of the variant: normalizer");
  add_run_seed(*c, o->seed, "seed of the inputs and of the search");
  add_timeout(
      *c, o->targets.timeout_seconds,
      "seconds of its own time, not of the clock, after which a launch is hung; without it one of few elements gets less, from 2 on");
  add_out(*c, o->frame.out, "folder for certificate.json, its page, its badge, and what each step writes")
      ->capture_default_str();
  add_frame_options(*c, o->frame);
  add_threads(*c, o->run.threads);
  add_source_options(*c, o->targets.source);
  add_machine(*c, o->device, o->shared, o->require);
  c->callback([o, &status] { status = run_adopt_command(*o); });
}

const Command adopt_command = {
    "adopt",
    add_adopt_command,
    {"0  PASS: the check passed, the search found nothing, and every limit is declared",
     "1  FAIL: a step failed; or INCONCLUSIVE: something could not be decided", kBadCallText,
     "3  the machine lacks what was asked for: no GPU, no compiler; or no output was judged",
     "4  right within limits that nobody declared, or judged only in part; --accept-limits makes it 0"},
    {"assay adopt my.cu --entry softmax --host --time 1m",
     "assay adopt safe_block/f32@host --quick --evaluations 320 --out out/safe"}};

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// assay check: is a kernel right? Runs conformance groups on a key, a plugin or a source file. Writes
// records.jsonl, summary.md, index.html, and a verdict that names causes instead of listing cases.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "accuracy/conformance/conformance.hpp"
#include "kernels/declaration.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reference/k_range.hpp"
#include "reports/cli/check/groups.hpp"
#include "reports/cli/check/run_check.hpp"
#include "reports/cli/check/spread.hpp"
#include "reports/cli/check/watched.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/run_frame.hpp"
#include "reports/data/conformance_text.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/say.hpp"
#include "reports/data/summary.hpp"
#include "reports/records/record_lines.hpp"
#include "reports/targets/check_targets.hpp"
#include "reports/terminal/answer.hpp"

namespace assay {
namespace {

struct CheckArguments : JudgeOptions {
  bool sanitize = false;
  int jobs = 1;
};

/// For programs; with the limits that nobody declared, if they make the exit status 4.
VerdictDocument document_of(const ReportData& data, int status) {
  VerdictDocument d = verdict_document("check", data, status);
  if (status == kUndeclaredLimits)
    for (const auto& [key, contract] : data.contracts)
      if (contract.limited())
        d.reason += fmt::format(" {}: right within limits that nobody declared; adopt with: --declare '{}'.",
                                key, contract.to_declare());
  return d;
}

bool single_case(const conformance::Narrowing& n) {
  return !n.family.empty() || !n.setup.empty() || n.V || n.rows || n.pitch || n.pick.any() || n.op;
}

/// After a PASS: the command that goes on. Empty after another verdict, and if single cases were requested.
std::string next_step(const ReportData& data, const std::vector<Target>& targets,
                      const conformance::Narrowing& n) {
  if (verdict_of(data) == Verdict::not_run) return without_gpu_words(targets);
  if (verdict_of(data) != Verdict::pass || single_case(n)) return "";
  // Limits that nobody declared come first: a search would find what is outside them.
  for (const auto& [key, contract] : data.contracts)
    if (contract.limited()) return "";
  return fmt::format("next, search for an input that breaks it: assay fuzz {} --time 5m\n",
                     targets.front().words);
}

/// For programs: what became of each kernel where one was not checked.
VerdictDocument document_of(const std::vector<SpreadPart>& parts, int status) {
  VerdictDocument d;
  d.command = "check";
  d.verdict = name(Verdict::incomplete);
  d.exit_status = status;
  d.environment = environment();
  std::int64_t lost = 0;
  for (const SpreadPart& p : parts) {
    VerdictCase c{.suite = p.name, .name = "check"};
    if (!p.lost.empty()) {
      ++lost;
      c.outcome = Status::fail;
      c.bad = 1;
      c.message = "was not checked: " + p.lost;
    }
    d.cases.push_back(std::move(c));
  }
  d.reason = fmt::format("{} of {} kernels were not checked; --resume goes on", lost, std::ssize(parts));
  d.counts = {{"kernels", std::ssize(parts)}, {"not checked", lost}};
  return d;
}

/// True if all kernels of the command are known to run on a GPU. Those of one GPU wait for each other.
bool all_on_a_gpu(const CheckArguments& o) {
  return device_count() > 0 && !o.targets.source.host &&
         std::ranges::all_of(o.targets.words, [](const std::string& word) {
           return is_source_file(word) || word.find("@" + std::string(name(Backend::cuda))) != word.npos;
         });
}

/// Several kernels at a time; then the same answer as for one after the other.
int run_spread_check(CheckArguments& o, RunFrame& frame) {
  require_targets(o.targets.words);
  const std::filesystem::path& out = frame.open_folder("out/check");
  settle(o.seed, out, o.frame.resume);
  const SpreadOptions how = {.parts = o.targets.words,
                             .jobs = o.jobs,
                             .device = o.device,
                             .threads = o.run.threads,
                             .in_turn = !o.shared && all_on_a_gpu(o),
                             .seed = o.seed,
                             .resume = o.frame.resume};
  const std::vector<SpreadPart> parts = spread(out, how);
  std::optional<ReportData> data = together(out, parts, how);
  if (!data) {
    // A call that was wrong says so in one line, and gives no answer.
    const bool wrong_call = std::ranges::any_of(
        parts, [](const SpreadPart& p) { return !p.lost.empty() && p.status == kBadCall; });
    return wrong_call ? kBadCall : frame.give(document_of(parts, kEnvironment));
  }
  data->seconds = frame.seconds();
  const int status = status_of_check(*data, o.accept_limits);
  const std::vector<Record> lines = with_swept_lengths(data->records);
  frame.finish(
      *data, {{"records.jsonl", lines_of(lines, data->environment)}, {"contract.json", contracts_of(*data)}},
      status);
  for (const SpreadPart& p : parts) {
    std::filesystem::remove_all(p.folder);
    std::filesystem::remove(p.output);
  }
  print_verdict(render_check_terminal(*data, frame.shown("index.html")) + seed_line(data->environment));
  frame.wrote({"records.jsonl", "contract.json", "summary.md", "index.html"});
  return frame.give(document_of(*data, status));
}

int run_check_command(CheckArguments& o) {
  RunFrame frame(o.frame);
  const Asked asked = settle_options(o);
  if (o.sanitize) o.run.also.push_back("sanitize");
  const bool sanitizes = o.sanitize || std::count(o.run.only.begin(), o.run.only.end(), "sanitize") > 0;
  if (sanitizes && sandbox_demanded())
    throw InputError(
        "--sandbox and --sanitize: compute-sanitizer runs a kernel outside of any sandbox: give only one of "
        "them");
  if (shard_of(o.frame.shard).count > 1) require_targets(o.targets.words);
  const Shard& shard = frame.part();
  require_common_seed(o.seed, shard.count);
  const std::size_t named = o.targets.words.size();
  refuse_idle_options(o.targets.words, o.targets.source);
  if (o.jobs > 1 && shard.count > 1)
    throw InputError(
        o.frame.shard.empty()
            ? fmt::format("--jobs: an MPI or Slurm launcher made this process part {} of {}: leave "
                          "out --jobs, or say --shard 0/1",
                          shard.index, shard.count)
            : "--jobs and --shard: give only one of them");
  if (o.jobs > 1 && named > 1) return run_spread_check(o, frame);
  if (shard.count > 1) o.targets.whole = o.targets.words;
  keep_shard(o.targets.words, shard);
  const std::vector<Target> targets = distinct_targets(o, "check");
  for (const Target& t : targets) o.run.narrow.pick.of(o.run.narrow.op.value_or(t.variant.op), {});
  // If only `sanitize` is asked for and cannot run, nothing would be shown.
  const bool device_code = std::any_of(targets.begin(), targets.end(),
                                       [](const Target& t) { return !on_host(t.variant.backend); });
  if (device_code && o.run.only == std::vector<std::string>{"sanitize"})
    if (const std::string why = sanitizer_missing(); !why.empty()) {
      say("assay: --only sanitize: {}\n", why);
      return kEnvironment;
    }
  // A command that repeats a case must not write over the check that it is of.
  const char* const usual = single_case(o.run.narrow) ? "out/case" : "out/check";
  settle_seed(o, frame.open_folder(usual));
  o.run.kept = frame.open_journal().kept();
  const std::unique_ptr<DeviceLock> lock = o.shared ? nullptr : lock_device(targets);
  ReportData data = run_check(targets, o.run, o.quick, asked);
  add_seed(data.environment, o.seed);
  data.part = shard.words();
  // A part without a kernel is finished, and has no verdict.
  const int status = targets.empty() ? kPassed : status_of_check(data, o.accept_limits);
  // Parts are merged case by case.
  const std::vector<Record> lines = shard.count > 1 ? data.records : with_swept_lengths(data.records);
  RunFiles files = {{"records.jsonl", lines_of(lines, data.environment)},
                    {"contract.json", contracts_of(data)}};
  if (targets.empty()) {
    frame.finish(std::move(files), 0, status);
    tell("shard {}/{}: none of the {} kernels belongs to it\n", shard.index, shard.count, named);
    return frame.give(document_of(data, status));
  }
  frame.finish(data, std::move(files), status);
  if (data.records.size() <= 3)
    for (const Record& r : data.records) tell("{}", record_line(r));
  print_verdict(render_check_terminal(data, frame.shown("index.html")) + seed_line(data.environment) +
                next_step(data, targets, o.run.narrow));
  return frame.give(document_of(data, status));
}

}  // namespace

static void add_check_command(CLI::App& app, int& status) {
  auto o = std::make_shared<CheckArguments>();
  conformance::Narrowing& n = o->run.narrow;
  CLI::App* c = app.add_subcommand(
      "check", "is it right? conformance, special values, bounds, determinism, call after call");
  c->add_option("target", o->targets.words,
                "a key of assay list, PLUGIN.so[#name], FILE.cu, or FILE.py:FUNCTION ...")
      ->required();
  std::string names;
  for (const conformance::Group& g : conformance::groups())
    names += (names.empty() ? "" : ", ") + std::string(g.name);
  for (const conformance::Group& g : groups_of_programs()) names += ", " + std::string(g.name);
  c->add_option("--only", o->run.only, "groups of cases: " + names);
  c->add_flag("--quick", o->quick, "fewer cases: seconds instead of a minute or two");
  c->add_flag("--fail-fast", o->run.fail_fast, "leave the rest once a case is wrong for certain");
  c->add_flag("--full", o->full, "all cases");
  c->add_flag("--sanitize", o->sanitize, "also run compute-sanitizer's four tools over a small set");
  c->add_option("--declare", o->targets.source.declare,
                "what the author promises: \"exp=fast; ties=smaller_index\"")
      ->join(';');
  c->add_flag(
      "--accept-limits", o->accept_limits,
      "exit 0, not 4, if the kernel is right within limits that nobody declared, or was judged only in "
      "part");
  add_max_ulp(*c, o->run.max_ulp,
              "the author's own promise: every element is within so many ulp of the exact value");
  c->add_option("--family", n.family, "only cases with this input family");
  add_whole(*c, "--V", n.V, "only cases of this row length, even if no group has it",
            {.most = std::uint64_t{1} << 46});
  add_whole(*c, "--rows", n.rows,
            "only cases of this many rows; 0 only in the groups that have such cases (rows)",
            {.most = std::uint64_t{1} << 32});
  add_pick(*c, n.pick, "k of top-k");
  c->add_option("--op", o->op, "another op of the variant: normalizer");
  add_whole(*c, "--pitch", n.pitch, "distance between row starts, in elements, in groups that vary it",
            {.least = 1, .most = std::uint64_t{1} << 46});
  c->add_option("--setup", n.setup, "only cases with this setup, as in their records: offset_6");
  add_run_seed(*c, o->seed);
  add_timeout(
      *c, o->targets.timeout_seconds,
      "seconds of its own time, not of the clock, after which a launch is hung; without it one of few elements gets less, from 2 on")
      ->take_last();  // overrides the one in a reproduce line
  add_out(*c, o->frame.out,
          "folder for records.jsonl, summary.md and index.html (out/check; of one case out/case)");
  add_frame_options(*c, o->frame);
  add_shard(*c, o->frame.shard);
  add_whole(
      *c, "--jobs", o->jobs,
      "check so many kernels at a time, each in a process of its own; the GPUs of the host are taken in "
      "turn, from --device on",
      {.least = 1, .most = 1024});
  add_threads(*c, o->run.threads);
  add_source_options(*c, o->targets.source);
  add_machine(*c, o->device, o->shared, o->require);
  c->footer("Words of --declare:\n" + declaration_words());
  c->callback([o, &status] { status = run_check_command(*o); });
}

const Command check_command = {
    "check",
    add_check_command,
    {"0  PASS: right, and every limit is declared",
     "1  FAIL: wrong inside the contract; or INCONCLUSIVE: something could not be decided", kBadCallText,
     "3  the machine lacks what was asked for: no GPU, no compiler; or no output was judged",
     "4  right within limits that nobody declared, or judged only in part; --accept-limits makes it 0"},
    {"assay check my.cu --entry softmax --host --quick",
     "assay check safe_block/f32@host --only families --family normal_1 --V 33"}};

}  // namespace assay

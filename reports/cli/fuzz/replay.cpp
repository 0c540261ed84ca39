// SPDX-License-Identifier: Apache-2.0
// assay replay: runs one case file again and explains it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "accuracy/case/case.hpp"
#include "fuzz/case_file.hpp"
#include "fuzz/trial.hpp"
#include "kernels/candidate.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/fuzz/fuzz_options.hpp"
#include "reports/cli/options.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/out/command_line.hpp"
#include "reports/targets/check_targets.hpp"
#include "reports/terminal/answer.hpp"

namespace assay {
namespace {

struct ReplayArguments {
  std::string file, candidate;
  CandidateOptions how;
  int device = 0;
  bool quiet = false;
  AnswerOptions answer;
};

/// For programs: one test case.
VerdictDocument document_of(const ReplayArguments& o, const std::string& key, int status,
                            const std::string& reason) {
  VerdictDocument d;
  d.command = "replay";
  d.verdict = status == kPassed   ? name(Verdict::pass)
              : status == kFailed ? name(Verdict::fail)
                                  : name(Verdict::not_run);
  d.exit_status = status;
  d.reason = reason;
  d.environment = environment();
  VerdictCase c{.suite = key, .name = o.file};
  c.outcome = status == kPassed ? Status::pass : status == kFailed ? Status::fail : Status::not_run;
  if (c.outcome != Status::pass) c.message = reason;
  if (c.outcome == Status::fail) c.bad = 1, c.reproduce = command_compared();
  d.counts = {{"planned", 1}, {"run", status != kEnvironment}, {"failed", status == kFailed}};
  d.cases = {c};
  return d;
}

int run_replay_command(const ReplayArguments& o) {
  VerdictOutput answer(o.answer);
  const fuzz::CaseFile c = fuzz::case_from_text(read_file(o.file), o.file);
  const Dtype dtype = c.trial.logits.dtype;
  choose_device(o.device);
  const std::string& own = c.origin.empty() ? c.key : c.origin;
  if (o.candidate.empty() && c.with_options)
    throw InputError(
        fmt::format("{}: say how the candidate is compiled: assay replay {} {}", o.file, o.file, own));
  const Target candidate = o.candidate.empty() ? candidate_for(own, c.key, c.op, dtype, o.how)
                                               : candidate_for(o.candidate, "", c.op, dtype, o.how);
  if (const std::string why = cannot_launch(candidate.variant); !why.empty()) {
    say("assay: {}: {}\n", candidate.variant.key(), why);
    return answer.give(document_of(o, candidate.variant.key(), kEnvironment, why), {}, {});
  }
  const Variant v = candidate.make();
  if (const std::string other = not_plain_rows(v, c.op); !other.empty())
    throw InputError(v.key() + ": a case file holds rows of logits: " + other);
  const Record r = fuzz::check(v, c.op, c.trial, true);
  if (!o.quiet) tell("{}", fuzz::explain(v, c.op, c.trial, r));
  const bool passes = r.status == Status::pass;
  const bool same = !passes && fuzz::fails_like(r, c.trial.logits, c.fails);
  const std::string reason =
      passes ? fmt::format("the case no longer fails ({} was: {})", c.key, c.fails.text())
             : fmt::format("{}: {}{}", v.key(), r.reason.empty() ? name(r.status) : r.reason,
                           same ? " (as recorded)" : " (recorded was: " + c.fails.text() + ")");
  tell("{}: {}\n", pass_or_fail(passes), reason);
  return answer.give(document_of(o, v.key(), passes ? kPassed : kFailed, reason), {}, {});
}

}  // namespace

static void add_replay_command(CLI::App& app, int& status) {
  auto o = std::make_shared<ReplayArguments>();
  CLI::App* c =
      app.add_subcommand("replay", "run one case file again and explain it: exit 1 if it still fails");
  c->add_option("case", o->file, "the case file that assay fuzz wrote")->required();
  c->add_option("candidate", o->candidate,
                "another candidate to try: a key or a plugin (the one that the case names)");
  add_device(*c, o->device);
  add_candidate_options(*c, o->how, "run a registered key without a worker process, for a debugger");
  add_answer_options(*c, o->answer);
  c->add_flag("--quiet", o->quiet, "print only the verdict");
  c->callback([o, &status] { status = run_replay_command(*o); });
}

const Command replay_command = {
    "replay",
    add_replay_command,
    {"0  the case passes now", "1  it still fails", kBadCallText, "3  the kernel cannot run here"},
    {"assay replay out/fuzz/online_block-f32-host.element-finite.json",
     "assay replay case.json safe_block/f32@host --quiet"}};

}  // namespace assay

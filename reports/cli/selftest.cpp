// assay selftest: judges planted faults, cheats and right kernels by the checks of this project and by the
// rules of other projects.
#include "reports/runs/selftest.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "accuracy/reproduce.hpp"
#include "reference/error.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/data/files.hpp"
#include "reports/terminal/answer.hpp"
#include "reports/terminal/colour.hpp"
#include "reports/terminal/progress.hpp"

namespace assay {
namespace {

struct SelftestArguments {
  std::string key, out = "out/selftest";
  bool quick = false, list = false;
  int threads = 0;
  AnswerOptions answer;
};

void list() {
  for (const Mutant& m : mutants())
    fmt::print("{:<5} {:<6} {:<48} {}\n", m.id, name(m.kind), m.variant.key(), what_of(m.id));
}

/// For programs: one test case an entry.
VerdictDocument document_of(const Selftest& s) {
  VerdictDocument d;
  d.command = "selftest";
  const bool passed = selftest_passed(s);
  d.verdict = passed ? "PASS" : "FAIL";
  d.exit_status = passed ? kPassed : kFailed;
  d.reason = selftest_verdict(s);
  d.seconds = s.seconds;
  d.environment = s.environment;
  const SelftestCounts n = count(s);
  d.counts = {{"faults", n.faults},     {"killed", n.killed},          {"survived", n.survived},
              {"cheats", n.cheats},     {"refused", n.cheats_refused}, {"right", n.right},
              {"accepted", n.accepted}, {"not_run", n.not_run}};
  for (const SelftestEntry& e : s.entries) {
    VerdictCase c{.suite = e.mutant->variant.key(),
                  .name = std::string(e.mutant->id) + " " + e.mutant->fault};
    c.outcome = !e.ran ? CaseOutcome::skipped : e.as_expected() ? CaseOutcome::passed : CaseOutcome::failed;
    if (c.outcome != CaseOutcome::passed) c.message = e.detail;
    if (c.outcome == CaseOutcome::failed) {
      c.bad = 1;
      c.message =
          std::string(e.refused ? "a right kernel was refused: " : "a planted fault survived: ") + e.detail;
      c.reproduce = "assay selftest --key " + shell_quoted(e.mutant->fault);
    }
    d.cases.push_back(std::move(c));
  }
  return d;
}

int run_selftest_command(const SelftestArguments& o) {
  VerdictOutput answer(o.answer);
  prepare_folder(o.out);
  SelftestOptions options;
  options.name = o.key;
  options.quick = o.quick;
  options.threads = o.threads;
  std::optional<Progress> progress("entries");
  options.progress = [&](std::int64_t done, std::int64_t planned) { (*progress)(done, planned); };
  const Selftest s = run_selftest(options);
  progress.reset();
  const std::filesystem::path out = o.out;
  write_files({{out / "selftest.jsonl", render_selftest_json_lines(s)},
               {out / "selftest.html", render_selftest_page(s)}});
  say(render_selftest_terminal(s, std::filesystem::absolute(out / "selftest.html").string()));
  return answer.give(document_of(s), out, {"selftest.jsonl", "selftest.html"});
}

}  // namespace

void add_selftest_command(CLI::App& app, int& status) {
  auto o = std::make_shared<SelftestArguments>();
  CLI::App* c =
      app.add_subcommand("selftest", "planted faults, cheats and right kernels against every check");
  c->add_option("--key", o->key, "one entry, by name, id or key (all)");
  add_out(*c, o->out, "folder for selftest.html and selftest.jsonl")->capture_default_str();
  c->add_flag("--quick", o->quick, "fewer rows for the rules of other projects");
  add_answer_options(*c, o->answer);
  add_threads(*c, o->threads, "host threads (one per core)");
  c->add_flag("--list", o->list, "list the entries instead");
  c->callback([o, &status] {
    if (o->list)
      list();
    else
      status = run_selftest_command(*o);
  });
}

}  // namespace assay

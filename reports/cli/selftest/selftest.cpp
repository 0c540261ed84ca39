// SPDX-License-Identifier: Apache-2.0
// assay selftest: judges planted faults, cheats and right kernels by the checks of this project and by the
// rules of other projects.
#include "reports/runs/selftest.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "accuracy/reproduce.hpp"
#include "reference/error.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/selftest/cheats.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/out/journal.hpp"
#include "reports/out/shard_folder.hpp"
#include "reports/terminal/answer.hpp"
#include "reports/terminal/colour.hpp"

namespace assay {
namespace {

struct SelftestArguments {
  std::string key, out = "out/selftest", shard;
  bool quick = false, list = false, resume = false, cheats = false;
  AnswerOptions answer;
  int threads = 0;
};

void list() {
  for (const Mutant& m : mutants())
    tell("{:<5} {:<6} {:<48} {}\n", m.id, name(m.kind), m.variant.key(), what_of(m.id));
}

/// For programs: one test case an entry.
VerdictDocument document_of(const Selftest& s, int status) {
  VerdictDocument d;
  d.command = "selftest";
  d.verdict = selftest_word(s);
  d.exit_status = status;
  d.reason = selftest_verdict(s);
  d.part = s.part;
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
  const Shard shard = part_of_run(o.shard);
  const OutFolder out(shard_folder(o.out, shard));
  Journal journal(out, o.resume);
  const InterruptNote note(journal.path(), journal.finished());
  SelftestOptions options;
  options.name = o.key;
  options.quick = o.quick;
  options.part = shard.index;
  options.parts = shard.count;
  options.threads = o.threads;
  options.progress = [](std::int64_t done, std::int64_t planned) {
    if (done % 20 == 0 || done == planned) say("{} of {} entries\n", done, planned);
  };
  options.earlier = [&](const Mutant& m) -> std::optional<SelftestEntry> {
    const std::optional<nlohmann::json> j = journal.take(m.variant.key() + "|" + m.id);
    return j ? std::optional(selftest_entry_from_json(*j, m)) : std::nullopt;
  };
  options.keep = [&](const SelftestEntry& e) {
    journal.add(e.mutant->variant.key() + "|" + e.mutant->id, to_json(e));
  };
  Selftest s = run_selftest(options);
  s.part = shard.words();
  const int status = selftest_passed(s) ? kPassed : kFailed;
  Files files = {{out / "selftest.jsonl", render_selftest_json_lines(s)},
                 {out / "selftest.html", render_selftest_page(s)}};
  add_shard_file(files, out.path(), shard_end(shard, std::ssize(s.entries), status));
  write_files(files);
  journal.finish();
  print_verdict(render_selftest_terminal(s, std::filesystem::absolute(out / "selftest.html").string()));
  return answer.give(document_of(s, status), out.path(), {"selftest.jsonl", "selftest.html"});
}

}  // namespace

void add_selftest_command(CLI::App& app, int& status) {
  auto o = std::make_shared<SelftestArguments>();
  CLI::App* c =
      app.add_subcommand("selftest", "planted faults, cheats and right kernels against every check");
  c->add_option("--key", o->key, "one entry, by name, id or key (all)");
  add_out(*c, o->out, "folder for selftest.html and selftest.jsonl")->capture_default_str();
  c->add_flag("--quick", o->quick, "fewer rows for the rules of other projects");
  add_threads(*c, o->threads, "host threads (one per core)");
  add_answer_options(*c, o->answer);
  add_resume(*c, o->resume);
  add_shard(*c, o->shard);
  c->add_flag("--cheats", o->cheats,
              "instead: kernels, files and certificates that are made to deceive this program");
  c->add_flag("--list", o->list, "list the entries instead");
  c->callback([o, &status] {
    if (o->list) {
      refuse_answer(o->answer, "--list");
      o->cheats ? list_cheats() : list();
      return;
    }
    if (!o->cheats) {
      status = run_selftest_command(*o);
      return;
    }
    if (o->resume || !o->shard.empty() || o->quick)
      throw InputError("--cheats runs whole: --quick, --resume and --shard are for the other entries");
    status = run_cheats_command(o->key, o->out, o->answer);
  });
}

}  // namespace assay

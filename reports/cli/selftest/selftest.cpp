// SPDX-License-Identifier: Apache-2.0
// assay selftest: judges planted faults, cheats and right kernels by the checks of this project and by the
// rules of other projects.
#include "reports/runs/selftest.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "reference/error.hpp"
#include "reference/text.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/run_frame.hpp"
#include "reports/cli/selftest/cheats.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/say.hpp"
#include "reports/terminal/answer.hpp"

namespace assay {
namespace {

struct SelftestArguments {
  FrameOptions run{.out = "out/selftest"};
  std::string key;
  bool quick = false, list = false, cheats = false;
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
  d.seconds = s.seconds;
  d.environment = s.environment;
  const SelftestCounts n = count(s);
  d.counts = {{"faults", n.faults},     {"killed", n.killed},          {"survived", n.survived},
              {"cheats", n.cheats},     {"refused", n.cheats_refused}, {"right", n.right},
              {"accepted", n.accepted}, {"not_run", n.not_run}};
  for (const SelftestEntry& e : s.entries) {
    VerdictCase c{.suite = e.mutant->variant.key(),
                  .name = std::string(e.mutant->id) + " " + e.mutant->fault};
    c.outcome = outcome(e);
    if (c.outcome != Status::pass) c.message = e.detail;
    if (c.outcome == Status::fail) {
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
  RunFrame run(o.run);
  const Shard& part = run.part();
  run.open_folder();
  run.open_journal();
  std::vector<const Mutant*> mine = selftest_entries(o.key);
  keep_shard(mine, part);
  Selftest s{.environment = environment(), .peer_rows = o.quick ? 16 : 128, .part = part.words()};
  std::vector<RunUnit> units;
  for (const Mutant* m : mine) units.push_back({.name = m->variant.key() + "|" + m->id});
  MutantInputs inputs(o.quick);
  s.entries = run.units<SelftestEntry>(
      units, o.threads, [&](std::size_t i) { return judge_entry(*mine[i], inputs, s.peer_rows); },
      [&](std::size_t i, SelftestEntry& e, std::size_t done) {
        e.mutant = mine[i];
        if (done % 20 == 0 || done == mine.size()) say("{} of {} entries\n", done, mine.size());
      });
  s.seconds = run.seconds();
  const int status = selftest_passed(s) ? kPassed : kFailed;
  run.finish({{"selftest.jsonl", render_selftest_json_lines(s)}, {"selftest.html", render_selftest_page(s)}},
             std::ssize(s.entries), status, "selftest.jsonl");
  print_verdict(render_selftest_terminal(s, run.shown("selftest.html")));
  return run.give(document_of(s, status));
}

}  // namespace

static void add_selftest_command(CLI::App& app, int& status) {
  auto o = std::make_shared<SelftestArguments>();
  CLI::App* c =
      app.add_subcommand("selftest", "planted faults, cheats and right kernels against every check");
  c->add_option("--key", o->key, "one entry, by name, id or key (all)");
  add_out(*c, o->run.out, "folder for selftest.html and selftest.jsonl")->capture_default_str();
  c->add_flag("--quick", o->quick, "fewer rows for the rules of other projects");
  add_threads(*c, o->threads, "host threads (one per core)");
  add_frame_options(*c, o->run);
  add_shard(*c, o->run.shard);
  c->add_flag("--cheats", o->cheats,
              "instead: kernels, files and certificates that are made to deceive this program");
  c->add_flag("--list", o->list, "list the entries instead");
  c->callback([o, &status] {
    if (o->list) {
      refuse_answer(o->run.answer, "--list");
      o->cheats ? list_cheats() : list();
      return;
    }
    if (!o->cheats) {
      status = run_selftest_command(*o);
      return;
    }
    if (o->run.resume || !o->run.shard.empty() || o->quick)
      throw InputError("--cheats runs whole: --quick, --resume and --shard are for the other entries");
    status = run_cheats_command(o->key, o->run);
  });
}

const Command selftest_command = {
    "selftest",
    add_selftest_command,
    {"0  every fault was refused by the check it names, and every right kernel passed", "1  one was not",
     kBadCallText, kNoGpuText},
    {"assay selftest --list", "assay selftest --key no_max --quick"}};

}  // namespace assay

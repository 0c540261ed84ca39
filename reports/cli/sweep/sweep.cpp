// SPDX-License-Identifier: Apache-2.0
// assay sweep: performance compared with the machine's own copy and read speed, verified before and after
// every timing.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <memory>
#include <set>

#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reference/inputs/inputs.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/progress.hpp"
#include "reports/cli/run_frame.hpp"
#include "reports/cli/sweep/sweep_answer.hpp"
#include "reports/data/say.hpp"
#include "reports/sweep/data/compare.hpp"
#include "reports/sweep/engine.hpp"
#include "reports/sweep/rig/rules.hpp"
#include "reports/sweep_page/page.hpp"

namespace assay {
namespace {

struct SweepArguments {
  FrameOptions run{.out = "out/sweep"};
  SweepSelection selection;
  SweepOptions sweep;
  std::string budget, require, compare, fresh;
  bool quick = false, full = false, plan = false;
  int device = 0;
};

/// Reads "90s", "9m", "1h" as seconds.
double budget_of(const std::string& text) {
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const std::string unit = text.substr(used);
  const double factor = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (used == 0 || factor == 0 || !(value > 0) || !(value * factor < 1e7))
    throw InputError("--budget " + text + ": must be a time, as 90s, 9m or 1h");
  return value * factor;
}

SweepComparison compare(const std::vector<SweepRecord>& before, const std::vector<SweepRecord>& after) {
  SweepComparison c = compare_sweeps(before, after);
  tell("{}", comparison_text(c));
  return c;
}

/// The records of a file. Throws InputError if it holds none: nothing could be compared.
std::vector<SweepRecord> some_sweep(const std::string& option, const std::string& file) {
  std::vector<SweepRecord> all = read_facts<SweepRecord>(file);
  if (all.empty()) throw InputError(option + " " + file + ": holds no record");
  return all;
}

/// A narrowed run does not report as lost what it did not request.
std::vector<SweepRecord> of_this_run(const std::vector<SweepRecord>& records,
                                     const std::vector<SweepJob>& plan, const SweepOptions& options) {
  std::set<std::string> planned;
  for (const SweepJob& j : plan) planned.insert(identity(blank_sweep_record(j, options)));
  std::vector<SweepRecord> out;
  for (const SweepRecord& r : records)
    if (r.role == "ceiling" || planned.contains(identity(r))) out.push_back(r);
  return out;
}

int run_sweep_command(SweepArguments& o) {
  if (o.plan) refuse_answer(o.run.answer, "--plan");
  RunFrame run(o.run);
  if (!o.fresh.empty()) {
    if (o.compare.empty()) throw InputError("--new: needs --compare, which names the older file");
    return run.give(
        answer_of_comparison(compare(some_sweep("--compare", o.compare), some_sweep("--new", o.fresh))));
  }
  std::vector<SweepRecord> before;
  if (!o.compare.empty()) before = some_sweep("--compare", o.compare);
  if (o.quick && o.full) throw InputError("--quick and --full: give only one of them");
  choose_machine(o.require, o.device);
  o.selection.set = o.quick ? SweepSet::quick : o.full ? SweepSet::full : SweepSet::published;
  if (!o.budget.empty())
    o.sweep.budget_seconds = budget_of(o.budget);
  else
    o.sweep.budget_seconds = o.quick ? 240 : o.full ? 0 : 1200;
  std::vector<std::string> missing;
  // A list of configurations has no other line.
  const Shard shard = o.plan ? shard_of(o.run.shard) : run.part();
  std::vector<SweepJob> plan = make_sweep_plan(o.selection, &missing);
  if (shard.count > 1) {
    // In the order of the plan, which begins with the most important.
    std::vector<SweepJob> mine;
    for (const std::size_t i : dealt_to(shard, std::vector<double>(plan.size(), 1))) mine.push_back(plan[i]);
    plan = std::move(mine);
  }
  if (o.plan) {
    for (const SweepJob& j : plan) tell("{}\n", identity(blank_sweep_record(j, o.sweep)));
    tell("{} configurations\n", plan.size());
    return kPassed;
  }
  if (plan.empty())
    throw InputError(fmt::format("--shard {}/{}: there are fewer configurations", shard.index, shard.count));
  const bool any = std::any_of(plan.begin(), plan.end(), [](const SweepJob& j) {
    return unavailable_reason(j.subject->variant.backend).empty();
  });
  if (!any) {
    const std::string why = unavailable_reason(plan.front().subject->variant.backend);
    say("assay: sweep: {} (--host sweeps the host executor)\n", why);
    return run.give(answer_of_no_sweep(why, std::ssize(plan)));
  }
  family_named(o.sweep.family);
  const std::filesystem::path& out = run.open_folder();
  Progress progress;
  std::atomic<std::int64_t> finished{0};
  o.sweep.progress = [&](std::int64_t done, std::int64_t planned) {
    finished = done;
    progress(done, planned);
  };
  run.note_interrupts("sweep.jsonl", finished);
  const SweepResult result = run_sweep(plan, o.sweep, out);
  tell("{}", sweep_outcome(result, shard.words()));
  for (const std::string& line : missing) tell("peer not run: {}\n", line);
  tell("data: {}\n", (out / "sweep.jsonl").string());
  tell("page: {}\n", write_sweep_page(out).string());
  VerdictDocument d = answer_of_sweep(result, of_this_run(result.records, plan, o.sweep));
  // A part need not time anything: assay merge asks whether anything ran.
  if (shard.count > 1 && result.n[Status::fail] == 0)
    d.exit_status = kPassed, d.verdict = name(Verdict::pass);
  if (!before.empty()) add_comparison(d, compare(of_this_run(before, plan, o.sweep), result.records));
  run.finish({}, std::ssize(read_facts<SweepRecord>(out / "sweep.jsonl")), d.exit_status, "sweep.jsonl");
  run.wrote({"sweep.jsonl", "sweep.html", "sweep.md"});
  return run.give(std::move(d));
}

}  // namespace

static void add_sweep_command(CLI::App& app, int& status) {
  auto o = std::make_shared<SweepArguments>();
  SweepSelection& s = o->selection;
  CLI::App* c =
      app.add_subcommand("sweep", "performance of every key against the machine's own copy and read speed");
  c->require_subcommand(0, 1);
  c->add_option("--key", s.keys, "keys and peers, as variant/dtype@backend; * and ? match (every cuda key)");
  c->add_option("--dtype", s.dtypes, "f16, bf16, f32 (all)");
  add_whole(*c, "--V", s.sizes, "row lengths (40 from 32 to 1048576, among them the paper's)");
  add_whole(*c, "--rows", s.rows, "rows (4000, 10, 1, 32, 32768)");
  add_whole(*c, "--k", s.k, "k of top-k (5, and 1, 10, 15, 30, 64, 128, 256 at some V)");
  add_threshold(*c, s.thresholds);
  add_family(*c, o->sweep.family);
  add_seed(*c, o->sweep.seed);
  c->add_flag("--host", s.host,
              "also the host executor's keys: as on another machine, a thousand times "
              "slower");
  c->add_flag("--quick", o->quick, "the most important shapes, in 4 minutes at most");
  c->add_flag("--full", o->full, "every V with every number of rows, dtype and k");
  c->add_option("--budget", o->budget,
                "start nothing after this time, as 90s, 9m or 1h: the rest is not_run (20m; --quick 4m)");
  c->add_flag("--plan", o->plan, "print what would be timed, in order, and time nothing");
  c->add_flag("--again", o->sweep.again, "also measure what --out has already");
  add_shard(*c, o->run.shard);
  c->add_flag("--resume", o->run.resume, "as without it: what --out has already is not measured again");
  c->add_option("--compare", o->compare,
                "an older sweep.jsonl: say what became slower or faster; exit 1 if anything became slower");
  c->add_option("--new", o->fresh, "with --compare: compare this sweep.jsonl, and measure nothing");
  add_device(*c, o->device);
  add_require(*c, o->require);
  add_answer_options(*c, o->run.answer);
  add_out(*c, o->run.out, "folder for sweep.jsonl, sweep.html, sweep_shapes.html and sweep.md")
      ->capture_default_str();
  // If a subcommand is given, the sweep itself does nothing.
  c->callback([c, o, &status] {
    if (c->get_subcommands().empty()) status = run_sweep_command(*o);
  });
}

static void add_sweep_page(CLI::App& sweep, int& status) {
  CLI::App* page = sweep.add_subcommand("page", "make the pages and sweep.md again from a folder's records");
  auto folder = std::make_shared<std::string>();
  page->add_option("folder", *folder,
                   "the folder with sweep.jsonl, and with peers.jsonl, accesses.jsonl and split.jsonl "
                   "if they exist")
      ->required();
  page->callback([folder, &status] {
    tell("page: {}\n", write_sweep_page(*folder).string());
    status = kPassed;
  });
}

/// By which rules a sweep times, as one line of JSON. reports/sweep/peers.py reads it.
static void add_sweep_rules(CLI::App& sweep, int& status) {
  CLI::App* c = sweep.add_subcommand(
      "rules", "by which rules launches are timed, as JSON: for peers.py and write_goals.py");
  c->callback([&status] {
    fmt::print("{}\n", timing_rules_json());
    status = kPassed;
  });
}

const Command sweep_command = {
    "sweep",
    add_sweep_command,
    {"0  measured, or nothing became slower",
     "1  a measurement failed, or with --compare a key became slower", kBadCallText, kNoGpuText},
    {"assay sweep --quick", "assay sweep --host --key safe_block/f32@host --V 1000 --rows 4 --out out/one"}};

const Command sweep_page_command = {
    "sweep page",
    add_sweep_page,
    {"0  done", kBadCallText, "3  the machine cannot do it"},
    {"assay sweep page out/sweep", "assay sweep page reports/published/h200"}};

const Command sweep_rules_command = {"sweep rules",
                                     add_sweep_rules,
                                     {"0  printed", kBadCallText},
                                     {"assay sweep rules", "assay sweep rules > rules.json"}};

}  // namespace assay

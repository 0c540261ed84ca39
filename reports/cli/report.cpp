// SPDX-License-Identifier: Apache-2.0
// assay report: the accuracy of every selected key on every selected input. Writes records.jsonl, summary.md,
// index.html, and the verdict on the terminal.
#include "reports/runs/report.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "reference/error.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/progress.hpp"
#include "reports/cli/run_frame.hpp"
#include "reports/data/digest.hpp"
#include "reports/data/say.hpp"
#include "reports/data/summary.hpp"
#include "reports/data/worst_case.hpp"
#include "reports/records/compare.hpp"
#include "reports/records/record_lines.hpp"
#include "reports/runs/oracle_speed_data.hpp"
#include "reports/terminal/answer.hpp"

namespace assay {
namespace {

struct ReportArguments {
  FrameOptions run;
  Selection selection;
  std::string require;
  std::string compare;
  std::string oracle = "fast";
  std::string oracle_speed;
  std::string functions;
  int threads = 0;
  int device = 0;
};

/// Of a report on one variant: the lines for the head of its file.
std::string lines_for_the_head(const Plan& plan, const std::vector<Record>& records) {
  const Variant& v = *plan.keys.front();
  for (const Variant* other : plan.keys)
    if (other->variant != v.variant) return "";
  std::string lines;
  for (const WorstCase& w : worst_cases_of(records, v.variant, name(v.op))) lines += head_line(w) + "\n";
  if (v.op == Op::topk) lines = std::string(kNoWorstCase) + "\n";
  return lines.empty() ? "" : fmt::format("for the head of {}:\n{}", v.file, lines);
}

int status_of_report(const ReportData& data) {
  switch (verdict_of(data)) {
    case Verdict::pass:
    case Verdict::judged_in_part:
      return kPassed;
    case Verdict::fail:
    case Verdict::inconclusive:
    case Verdict::not_covered:
      return kFailed;
    case Verdict::incomplete:
    case Verdict::not_run:
    case Verdict::not_judged:
      break;
  }
  // Of one part of a run it is enough that nothing failed: merge asks whether anything passed. A machine on
  // which no kernel of the run can be launched is of no use to it.
  const bool useless = std::ranges::none_of(data.keys, [](const KeyInfo& k) { return k.not_run.empty(); });
  return data.part.empty() || useless ? kEnvironment : kPassed;
}

int run_report_command(ReportArguments& o) {
  RunFrame run(o.run);
  choose_machine(o.require, o.device);
  if (o.oracle != "fast" && o.oracle != "mpfr")
    throw InputError("--oracle " + o.oracle + ": must be fast or mpfr");
  o.selection.tier = o.oracle == "fast" ? Tier::fast : Tier::mpfr;
  std::vector<Record> old;
  if (!o.compare.empty()) old = read_records(o.compare);
  std::optional<FunctionsReport> functions;
  if (!o.functions.empty()) functions = read_functions(o.functions);

  const Selection& s = o.selection;
  const bool narrowed =
      !s.keys.empty() || !s.families.empty() || !s.sizes.empty() || !s.dtypes.empty() || !s.logits.empty();
  // A narrowed run must not overwrite the whole report from which its command was copied.
  const Shard& part = run.part();
  Plan plan = make_plan(s);
  if (part.count > 1) keep_units(plan, dealt_to(part, weights_of(plan)));
  run.open_folder(narrowed ? "out/selection" : s.quick ? "out/quick" : "out/report");
  tell("plan: {}\n", describe(plan));
  flush_output();

  Progress progress;
  RunOptions run_options;
  run_options.kept = run.open_journal().kept();
  run_options.threads = o.threads;
  run_options.progress = [&progress](std::int64_t done, std::int64_t planned) { progress(done, planned); };
  // Measured before the report uses all cores. A narrowed run does not need it.
  OracleSpeedData oracle;
  if (!o.oracle_speed.empty())
    oracle = read_oracle_speed(o.oracle_speed);
  else if (!narrowed && part.index == 0)
    oracle = quick_oracle_speed();
  if (!functions && !narrowed && part.index == 0) functions = quick_functions();
  ReportData data = run_report(plan, s, run_options);
  data.oracle = std::move(oracle);
  data.functions = std::move(functions);
  data.part = part.words();

  std::int64_t failed = 0;
  for (const OracleSpeedRow& row : data.oracle.rows) failed += row.failed;
  const bool declared = narrowed || !data.functions || functions_passed(*data.functions);
  const int status = failed == 0 && declared ? status_of_report(data) : kFailed;

  run.finish(data, {{"records.jsonl", lines_of(data.records, data.environment)}}, status);

  if (data.records.size() <= 3)
    for (const Record& r : data.records) tell("{}", record_line(r));
  if (!o.compare.empty()) tell("{}", compare_records(old, data.records));
  tell("{}", lines_for_the_head(plan, data.records));
  print_verdict(render_summary_terminal(data, run.shown("index.html")));
  if (s.quick)
    tell(
        "This was a quick report: {} of the {} row lengths, and a third of the families at the longest. "
        "Without "
        "--quick it takes all.\n",
        quick_report_sizes().size(), report_sizes().size());
  if (failed > 0)
    tell("FAIL: {} comparisons failed while the oracle's speed was measured (assay sweep oracle)\n", failed);
  if (!declared) tell("FAIL: a function is further off than declared (assay functions)\n");
  VerdictDocument d = verdict_document("report", data, status);
  if (failed > 0 || !declared) {
    d.verdict = name(Verdict::fail);
    d.reason += failed > 0 ? " A comparison failed while the oracle's speed was measured." : "";
    d.reason += declared ? "" : " A function is further off than declared.";
  }
  return run.give(std::move(d));
}

}  // namespace

static void add_report_command(CLI::App& app, int& status) {
  auto o = std::make_shared<ReportArguments>();
  Selection& s = o->selection;
  CLI::App* c = app.add_subcommand(
      "report", "accuracy of every variant on real and adversarial inputs: page, data, summary");
  add_out(*c, o->run.out,
          "folder for records.jsonl, summary.md and index.html (out/report; with --quick out/quick; "
          "out/selection when "
          "narrowed)");
  c->add_option("--key", s.keys, "keys, as variant/dtype@backend; * and ? match (every host and cuda key)");
  add_family(*c, s.families);
  add_whole(*c, "--V", s.sizes, "row lengths (18 from 0 to 128256)");
  c->add_option("--dtype", s.dtypes, "f16, bf16, f32 (all)");
  add_whole(*c, "--rows", s.rows, "rows of every case (by family and V)");
  add_pick(*c, s.pick, "k of top-k (5; at some V also 1, V, 64, 256, 1024)");
  add_whole(*c, "--pitch", s.pitch, "distance between row starts, in elements, in the first launch (V)");
  c->add_option("--op", s.op, "another op of the variants: normalizer (each variant's own)");
  add_seed(*c, s.seed);
  c->add_option("--logits", s.logits,
                "judge on the rows of this FILE[:NAME] (.npy, .npz, .safetensors) instead of the families");
  c->add_option("--oracle", o->oracle,
                "fast: fp64 enclosures, and MPFR if they leave a verdict open; mpfr: MPFR for all")
      ->capture_default_str();
  c->add_flag("--quick", s.quick,
              "6 row lengths, fewer rows, and fewer families of long rows: less than half of the cases");
  c->add_flag("--full", s.full,
              "more rows, every spike position at every V, every causal square, and the host_fma keys");
  add_frame_options(*c, o->run);
  add_shard(*c, o->run.shard);
  add_threads(*c, o->threads);
  add_device(*c, o->device);
  add_require(*c, o->require);
  c->add_option("--oracle-speed", o->oracle_speed,
                "an oracle.json of assay sweep oracle, for the page (measured now, unless the report is "
                "narrowed)");
  c->add_option("--compare", o->compare, "an older records.jsonl: say what became more or less accurate");
  c->add_option("--functions", o->functions,
                "a functions.json of assay functions, for the page (a sample measured now, unless the report "
                "is narrowed)");
  c->callback([o, &status] { status = run_report_command(*o); });
}

const Command report_command = {
    "report",
    add_report_command,
    {"0  every planned case passed", "1  a case failed, was inconclusive, or did not run", kBadCallText,
     "3  the machine lacks what was asked for: no GPU, no memory; or no output was judged"},
    {"assay report --key safe_block/f32@host --family gpt_logits --V 4099",
     "assay report --key 'online_*/f16@host' --out out/online"}};

}  // namespace assay

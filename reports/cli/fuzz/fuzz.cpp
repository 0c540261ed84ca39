// SPDX-License-Identifier: Apache-2.0
// assay fuzz: searches an input that breaks each candidate. Findings are shrunk and written as case files.
// Exit status 1 if something was found.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "accuracy/case/case.hpp"
#include "fuzz/search/campaign.hpp"
#include "kernels/candidate.hpp"
#include "kernels/device.hpp"
#include "kernels/isolation/isolated.hpp"
#include "reference/error.hpp"
#include "reports/cli/check/run_check.hpp"
#include "reports/cli/check/spread.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/fuzz/fuzz_options.hpp"
#include "reports/cli/fuzz/fuzz_target.hpp"
#include "reports/cli/fuzz/fuzz_verdict.hpp"
#include "reports/cli/options.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/merge/merge.hpp"
#include "reports/records/record_lines.hpp"

namespace assay {
namespace {

/// One process for each GPU, and each a part of the search. They share folders, not files.
int run_on_devices(const FuzzOptions& o, RunFrame& run) {
  SpreadOptions how{
      .jobs = o.jobs, .device = o.device, .seed = o.seed, .resume = o.resume, .shows_all = true};
  how.parts.resize(static_cast<std::size_t>(o.jobs));
  FuzzVerdict verdict;
  for (const SpreadPart& p : spread(run.path(), how))
    verdict.take_status(p.lost.empty() ? p.status : std::max(p.status, kFailed));
  try {
    const Merged merged = merge_parts({o.out}, o.out);
    verdict.take_in_part(merged.in_part);
    run.wrote(merged.files);
    verdict.take_records(read_file(run / "records.jsonl"));
  } catch (const MissingParts& missing) {
    say("{}", missing.text);
  }
  VerdictDocument document = verdict.document();
  add_seed(document.environment, o.seed);
  tell("{}\n{}", verdict.words(), seed_line(document.environment));
  return run.give(std::move(document));
}

int run_fuzz_command(FuzzOptions& o) {
  RunFrame run(o);
  if (!o.merge.empty()) return merge_campaigns(o, run);
  if (o.candidates.empty())
    throw InputError("fuzz: name a candidate: a key or a plugin (assay list names the keys)");
  refuse_idle_options(o.candidates, o.how.source);
  choose_device(o.device);
  for (std::int64_t V : o.sizes)
    if (V < 1 || V > fuzz::kMostColumns)  // of no column nothing is judged
      throw InputError(fmt::format("--V {}: must be 1 to {}", V, fuzz::kMostColumns));
  if (!o.time.empty()) seconds_of(o.time);
  std::optional<Op> op;
  if (!o.op.empty() && !(op = parse_op(o.op))) throw InputError("--op " + o.op + ": unknown");
  const Shard& shard = run.part();
  require_common_seed(o.seed, shard.count);
  std::vector<Target> all;
  for (const std::string& word : o.candidates)
    for (Target& found : candidates_named(word, o.how, true)) all.push_back(std::move(found));
  for (const Target& t : all)
    if (op && !t.died && !t.variant.does(*op))
      throw InputError(fmt::format("--op {}: {} does not compute it", o.op, t.variant.key()));
  if (!o.corpus.empty()) {
    std::error_code unknown;
    if (std::filesystem::exists(o.corpus, unknown) && !std::filesystem::is_directory(o.corpus, unknown))
      throw InputError("--corpus " + o.corpus + ": is a file, and must be a folder");
    prepare_folder(o.corpus);
  }
  if (o.jobs > 1 && shard.count == 1 && device_count() > 0 &&
      std::any_of(all.begin(), all.end(), [](const Target& c) { return on_device(c.variant); })) {
    settle(o.seed, run.open_folder(), o.resume);
    return run_on_devices(o, run);
  }

  settle(o.seed, run.open_folder(), o.resume);
  run.open_journal();
  // Why a target is not searched: "not run", and the reason.
  const auto skipped = [&op](const Target& t) -> std::pair<std::string, std::string> {
    if (std::string why = cannot_launch(t.variant); !why.empty()) return {"not run", std::move(why)};
    if (const std::string other = not_plain_rows(t.variant, op.value_or(t.variant.op)); !other.empty())
      return {"not searched", "genomes are rows of logits: " + other};
    return {};
  };
  std::vector<std::pair<std::string, std::string>> absent;
  std::vector<const Target*> searched;
  for (const Target& one : all) {
    absent.push_back(one.died ? std::pair<std::string, std::string>() : skipped(one));
    if (!one.died && absent.back().first.empty()) searched.push_back(&one);
  }
  // One after the other: each search has all cores.
  const auto outcomes = run_searches(searched, run, [&](const Target& one) {
    return fuzz_target(one, op.value_or(one.variant.op), o, shard, run.path(), run.journal());
  });
  std::string records;
  FuzzVerdict verdict;
  auto next = outcomes.begin();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Target& one = all[i];
    FuzzOutcome outcome;
    if (one.died) {
      const Record r = record_of_death(one);
      tell("{}: FAIL: {}\n", one.variant.key(), r.reason);
      outcome.judged = true, outcome.found = 1, outcome.first = r.reproduce, outcome.records = record_line(r);
    } else if (!absent[i].first.empty()) {
      verdict.skip(one.variant.key(), absent[i].first, absent[i].second);
      continue;
    } else {
      outcome = *next++;
    }
    records += outcome.records;
    verdict.take(one.variant.key(), outcome);
  }
  const int status = verdict.status();
  std::vector<std::pair<std::string, std::string>> where = environment();
  add_seed(where, o.seed);
  // Also without a finding, so that none of an older search is left.
  run.finish({{"records.jsonl", with_run(records, where)}}, std::count(records.begin(), records.end(), '\n'),
             status, "", verdict.in_part());
  tell("{}\n{}", verdict.words(shard.words()), seed_line(where));
  if (const std::string why = why_not_sandboxed(); status == kPassed && !why.empty() && !o.how.in_process)
    tell("  not sandboxed: {}\n", why);
  VerdictDocument document = verdict.document();
  document.environment = where;
  return run.give(std::move(document));
}

}  // namespace

void add_candidate_options(CLI::App& command, CandidateOptions& o, const std::string& in_process) {
  add_source_options(command, o.source);
  command.add_option("--declare", o.source.declare, "the author's promise, as for assay check");
  add_timeout(command, o.timeout_seconds, "seconds of one launch", 0.1);
  command.add_flag("--in-process", o.in_process, in_process);
  add_sandbox(command);
}

static void add_fuzz_command(CLI::App& app, int& status) {
  auto o = std::make_shared<FuzzOptions>();
  CLI::App* c = app.add_subcommand("fuzz",
                                   "search for an input that breaks a candidate, shrink it, and write a case "
                                   "file that assay replay explains");
  c->add_option("candidates", o->candidates,
                "keys (variant/dtype@backend; * and ? match), PLUGIN.so[#name], or FILE.cu");
  c->add_option("--time", o->time,
                "time for each candidate, as 30s, 5m or 1h (30s, or until --evaluations are made)");
  add_whole(*c, "--evaluations", o->evaluations,
            "genomes to try for each candidate, however long it takes; the same seed gives the same ones "
            "(best a multiple of 32)",
            {.least = 1});
  add_run_seed(*c, o->seed, "seed of the search");
  add_whole(*c, "--V", o->sizes, "row lengths to try (any up to 139264, most of them short)");
  c->add_option("--op", o->op, "another op of the candidates: normalizer (each one's own)");
  c->add_option("--corpus", o->corpus, "folder for what was learned: a later run continues from it");
  add_out(*c, o->out, "folder for case files and records.jsonl")->capture_default_str();
  add_whole(*c, "--jobs", o->jobs, "host threads (one per core), or GPUs, each in its own process (one)",
            {.least = 1, .most = 1024});
  add_shard(*c, o->shard);
  c->add_option("--merge", o->merge,
                "only merge the corpora and records of these folders into --corpus and --out");
  add_candidate_options(*c, o->how,
                        "run registered keys without a worker process: faster, but a crash ends the search");
  add_frame_options(*c, *o);
  add_device(*c, o->device);
  c->callback([o, &status] { status = run_fuzz_command(*o); });
}

const Command fuzz_command = {"fuzz",
                              add_fuzz_command,
                              {"0  nothing was found", "1  an input breaks a kernel; or nothing was judged",
                               kBadCallText, "3  no kernel can run here"},
                              {"assay fuzz safe_block/f32@host --evaluations 32",
                               "assay fuzz my.cu --entry softmax --host --time 5m --corpus corpus"}};

}  // namespace assay

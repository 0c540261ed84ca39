// SPDX-License-Identifier: Apache-2.0
// assay fuzz: searches an input that breaks each candidate. Findings are shrunk and written as case files.
// Exit status 1 if something was found.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "accuracy/case/case.hpp"
#include "fuzz/search/campaign.hpp"
#include "kernels/candidate.hpp"
#include "kernels/device.hpp"
#include "kernels/isolation/isolated.hpp"
#include "reference/error.hpp"
#include "reports/cli/check/run_check.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/fuzz/fuzz_options.hpp"
#include "reports/cli/fuzz/fuzz_target.hpp"
#include "reports/cli/fuzz/fuzz_verdict.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/seed_option.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/merge/merge.hpp"
#include "reports/out/journal.hpp"
#include "reports/out/shard_folder.hpp"
#include "reports/records/record_lines.hpp"

namespace assay {
namespace {

/// Starts one process per GPU. Each is a shard of the search with its own device. They share folders, not
/// files.
int run_on_devices(const FuzzOptions& o, VerdictOutput& answer) {
  const int devices = std::max(1, device_count());
  std::vector<pid_t> children;
  for (int i = 0; i < o.jobs; ++i) {
    std::vector<std::string> words = device_words(o, i, devices);
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    pid_t child = 0;
    if (const int e = posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, argv.data(), environ); e != 0)
      throw std::runtime_error(std::string("starting a process for a device: ") + std::strerror(e));
    children.push_back(child);
  }
  FuzzVerdict verdict;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    verdict.take_status(WIFEXITED(status) ? WEXITSTATUS(status) : kFailed);
  }
  std::vector<std::string> files;
  try {
    files = merge_parts({o.out}, o.out).files;
    verdict.take_records(read_file(std::filesystem::path(o.out) / "records.jsonl"));
  } catch (const MissingParts& missing) {
    say("{}", missing.text);
  }
  VerdictDocument document = verdict.document();
  add_seed(document.environment, o.seed);
  tell("{}\n{}", verdict.words(), seed_line(document.environment));
  return answer.give(std::move(document), o.out, files);
}

int run_fuzz_command(FuzzOptions& o) {
  VerdictOutput answer(o.answer);
  if (!o.merge.empty()) return merge_campaigns(o, answer);
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
  const fuzz::Shard shard = part_of_run(o.shard);
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
    settle(o.seed, o.out, o.resume);
    return run_on_devices(o, answer);
  }

  const OutFolder out(shard_folder(o.out, shard));
  settle(o.seed, out.path(), o.resume);
  Journal journal(out, o.resume);
  const InterruptNote note(journal.path(), journal.finished());
  std::string records;
  FuzzVerdict verdict;
  for (const Target& one : all) {
    const Variant& v = one.variant;
    if (one.died) {
      const Record r = record_of_death(one);
      tell("{}: FAIL: {}\n", v.key(), r.reason);
      FuzzOutcome dead;
      dead.judged = true, dead.found = 1, dead.first = r.reproduce, dead.records = record_line(r);
      records += dead.records;
      verdict.take(v.key(), dead);
      continue;
    }
    if (const std::string why = cannot_launch(v); !why.empty()) {
      verdict.skip(v.key(), "not run", why);
      continue;
    }
    if (const std::string other = not_plain_rows(v.claim, op.value_or(v.op)); !other.empty()) {
      verdict.skip(v.key(), "not searched", "genomes are rows of logits: " + other);
      continue;
    }
    const FuzzOutcome outcome = fuzz_target(one, op.value_or(v.op), o, shard, out.path(), journal);
    records += outcome.records;
    std::fflush(stdout);  // whether it can be written is asked when all files are
    verdict.take(v.key(), outcome);
  }
  const int status = verdict.status();
  std::vector<std::pair<std::string, std::string>> where = environment();
  add_seed(where, o.seed);
  // Also without a finding, so that none of an older search is left.
  Files files = {{out / "records.jsonl", with_run(records, where)}};
  add_shard_file(files, out.path(),
                 shard_end(shard, std::count(records.begin(), records.end(), '\n'), status));
  write_files(files);
  journal.finish();
  tell("{}\n{}", verdict.words(shard.words()), seed_line(where));
  if (const std::string why = why_not_sandboxed(); status == kPassed && !why.empty() && !o.how.in_process)
    tell("  not sandboxed: {}\n", why);
  VerdictDocument document = verdict.document();
  document.part = shard.words();
  document.environment = where;
  return answer.give(std::move(document), out.path(), {"records.jsonl"});
}

}  // namespace

void add_candidate_options(CLI::App& command, CandidateOptions& o, const std::string& in_process) {
  add_source_options(command, o.source);
  command.add_option("--declare", o.source.declare, "the author's promise, as for assay check");
  add_timeout(command, o.timeout_seconds, "seconds of one launch", 0.1);
  command.add_flag("--in-process", o.in_process, in_process);
  add_sandbox(command);
}

std::vector<std::string> device_words(const FuzzOptions& o, int index, int devices) {
  std::vector<std::string> words = {"assay", "fuzz"};
  words.insert(words.end(), o.candidates.begin(), o.candidates.end());
  for (std::string& w : source_arguments(o.how.source)) words.push_back(std::move(w));
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--time", o.time);
  add("--op", o.op);
  add("--corpus", o.corpus);
  add("--out", o.out);
  add("--timeout", fmt::format("{}", o.how.timeout_seconds));
  add("--seed", std::to_string(o.seed.value));
  if (o.evaluations > 0) add("--evaluations", std::to_string(o.evaluations));
  for (std::int64_t V : o.sizes) add("--V", std::to_string(V));
  add("--shard", fmt::format("{}/{}", index, o.jobs));
  add("--device", std::to_string((o.device + index) % devices));
  add("--jobs", "1");
  if (o.how.in_process) words.emplace_back("--in-process");
  if (o.resume) words.emplace_back("--resume");
  if (!wants_sandbox()) words.emplace_back("--no-sandbox");
  return words;
}

void add_fuzz_command(CLI::App& app, int& status) {
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
  add_answer_options(*c, o->answer);
  add_device(*c, o->device);
  add_resume(*c, o->resume);
  c->callback([o, &status] { status = run_fuzz_command(*o); });
}

}  // namespace assay

// assay fuzz: searches an input that breaks each candidate. Findings are shrunk and written as case files.
// Exit status 1 if something was found.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "accuracy/case/case.hpp"
#include "accuracy/reproduce.hpp"
#include "fuzz/search/campaign.hpp"
#include "kernels/candidate.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reference/parallel.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/fuzz/fuzz_answer.hpp"
#include "reports/cli/fuzz/fuzz_options.hpp"
#include "reports/cli/options.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/data/record_lines.hpp"
#include "reports/terminal/colour.hpp"

namespace assay {
namespace {

using Files = std::vector<std::pair<std::filesystem::path, std::string>>;

/// Reads "30s", "5m", "1h", "500ms", or a number of seconds.
double seconds_of(const std::string& text) {
  char* end = nullptr;
  const double n = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double scale = unit.empty() || unit == "s" ? 1
                       : unit == "ms"              ? 1e-3
                       : unit == "m"               ? 60
                       : unit == "h"               ? 3600
                                                   : 0;
  if (end == text.c_str() || scale == 0 || !(n > 0) || !(n * scale <= 1e7))
    throw InputError("--time " + text + ": must be a time, as 30s, 5m or 1h");
  return n * scale;
}

/// Progress: on a terminal one line that redraws itself, in a log a line every ten seconds.
class CampaignProgress {
 public:
  explicit CampaignProgress(std::string key) : key_(std::move(key)) {}
  void operator()(const fuzz::SearchResult& r) {
    if (r.seconds - shown_ < (terminal_ ? 0.2 : 10)) return;
    shown_ = r.seconds;
    fmt::print(
        stderr,
        "{}{}: {:.0f} s, {} genomes, {:.3g} elements/s, largest share of a bound {:.3f}, {} failures{}",
        terminal_ ? "\r" : "", key_, r.seconds, r.evaluations,
        static_cast<double>(r.elements) / std::max(r.seconds, 1e-9), r.largest_share, r.failures.size(),
        terminal_ ? "" : "\n");
    std::fflush(stderr);
    drawn_ = true;
  }
  ~CampaignProgress() {
    if (terminal_ && drawn_) fmt::print(stderr, "\n");
  }

 private:
  std::string key_;
  bool terminal_ = isatty(STDERR_FILENO) != 0, drawn_ = false;
  double shown_ = 0;
};

/// Merges corpora and records of several folders into one of each.
int merge(const FuzzOptions& o) {
  std::map<std::string, std::vector<fuzz::Corpus>> corpora;
  std::vector<std::string> records;
  std::size_t files = 0;
  for (const std::string& folder : o.merge) {
    if (!std::filesystem::is_directory(folder)) throw InputError("--merge " + folder + ": no such folder");
    for (const auto& file : fuzz::corpus_files(folder)) {
      fuzz::Corpus c = fuzz::corpus_from_text(read_file(file), file.string());
      corpora[c.key].push_back(std::move(c));
      ++files;
    }
    std::vector<std::filesystem::path> lists;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (const std::string n = entry.path().filename(); n.starts_with("records") && n.ends_with(".jsonl"))
        lists.push_back(entry.path());
    std::sort(lists.begin(), lists.end());
    for (const auto& list : lists) {
      ++files;
      std::istringstream text(read_file(list));
      for (std::string line; std::getline(text, line);)
        if (std::find(records.begin(), records.end(), line) == records.end()) records.push_back(line);
    }
  }
  if (files == 0)
    throw InputError(fmt::format("--merge {}: no corpus and no records there", fmt::join(o.merge, " ")));
  Files out;
  const std::filesystem::path to = o.corpus.empty() ? o.out : o.corpus;
  prepare_folder(to);
  prepare_folder(o.out);
  for (const auto& [key, list] : corpora)
    out.emplace_back(fuzz::corpus_file(to, key, {}), fuzz::merged(list).text());
  out.emplace_back(std::filesystem::path(o.out) / "records.jsonl",
                   fmt::format("{}{}", fmt::join(records, "\n"), records.empty() ? "" : "\n"));
  write_files(out);
  fmt::print("merged {} files: {} corpora into {}, {} records into {}\n", files, corpora.size(), to.string(),
             records.size(), o.out);
  return kPassed;
}

/// What the terminal shows of one candidate's campaign, and the files that it leaves.
struct Outcome {
  bool judged = false;
  std::size_t found = 0;
  std::string first;                  // the command that repeats the first finding
  VerdictCase searched;               // the search itself
  std::vector<VerdictCase> findings;  // one each
};

Outcome fuzz_one(const Target& candidate, Op op, const FuzzOptions& o, const fuzz::Shard& shard, Files& files,
                 std::vector<Record>& records) {
  const Variant& v = candidate.variant;
  fuzz::CampaignOptions c;
  c.search.on_device = &v;
  c.search.evaluations = o.evaluations;
  c.search.seconds = !o.time.empty() ? seconds_of(o.time) : o.evaluations > 0 ? 0 : 30;
  c.search.seed = o.seed;
  c.search.domain = fuzz::domain_of(v, op);
  if (!o.sizes.empty()) {
    c.search.domain.sizes = o.sizes;
    c.search.domain.elements =
        std::max<std::int64_t>(c.search.domain.elements, *std::max_element(o.sizes.begin(), o.sizes.end()));
  }
  const int cores = thread_count(0);
  c.search.workers = on_device(v) ? std::min(4, cores) : o.jobs > 0 ? o.jobs : cores;
  c.shard = shard;
  c.corpus = o.corpus;
  c.found = fmt::format("assay fuzz {} --seed {}", candidate.words, o.seed);
  for (std::int64_t V : o.sizes) c.found += fmt::format(" --V {}", V);
  CampaignProgress progress(v.key());
  c.search.progress = [&progress](const fuzz::SearchResult& r) { progress(r); };
  std::string corpus;
  fuzz::Campaign done = fuzz::run_campaign(candidate.make, op, c, &corpus);
  const fuzz::SearchResult& r = done.result;
  if (!o.corpus.empty()) files.emplace_back(fuzz::corpus_file(o.corpus, v.key(), shard), corpus);
  fmt::print(
      "{}: {} genomes ({} passed, {} outside the domain, {} inconclusive), {} rows, {:.4g} elements in "
      "{:.1f} s: "
      "{:.3g} elements/s, {:.3g} genomes/s, {} judged by every check; largest share of a bound {:.3f} ({}); "
      "corpus {}\n",
      v.key(), r.evaluations, r.passed, r.unsupported, r.inconclusive, r.rows,
      static_cast<double>(r.elements), r.seconds, static_cast<double>(r.elements) / std::max(r.seconds, 1e-9),
      static_cast<double>(r.evaluations) / std::max(r.seconds, 1e-9), r.in_full, r.largest_share,
      r.largest_check.empty() ? "none" : r.largest_check, done.remembered);
  Outcome outcome;
  for (fuzz::FuzzFinding& f : done.findings) {
    const std::filesystem::path at = std::filesystem::path(o.out) / f.name;
    Repeat again;
    again.words = "replay " + shell_quoted(at.string());
    if (v.origin.find(" --") != std::string::npos) again.words += " " + v.origin;
    f.record.reproduce = reproduce(again);
    if (outcome.first.empty()) outcome.first = f.record.reproduce;
    files.emplace_back(at, fuzz::text_of(f.file));
    records.push_back(f.record);
    outcome.findings.push_back({.suite = v.key(),
                                .name = f.name,
                                .outcome = CaseOutcome::failed,
                                .bad = 1,
                                .message = f.file.fails.text() + ": " + f.file.detail,
                                .reproduce = f.record.reproduce});
    fmt::print("  {}: {} x {}, {} distinct values: {}\n    {}\n", f.file.fails.text(),
               f.file.trial.logits.rows, f.file.trial.logits.V, fuzz::distinct_values(f.file.trial.logits),
               f.file.detail, f.record.reproduce);
  }
  if (r.passed + static_cast<std::int64_t>(r.failures.size()) == 0)
    fmt::print("  nothing was judged{}\n", r.reason.empty() ? "" : ": " + r.reason);
  outcome.judged = r.passed > 0 || !r.failures.empty();
  outcome.found = done.findings.size();
  outcome.searched = {.suite = v.key(), .name = "search", .records = r.evaluations};
  if (!outcome.judged) {
    outcome.searched.outcome = CaseOutcome::failed;
    outcome.searched.message = "nothing was judged: " + r.reason;
  }
  return outcome;
}

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
  std::vector<VerdictCase> cases;
  int passed = 0, failed = 0, other = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
    passed += code == kPassed;
    failed += code == kFailed;
    if (code > kFailed) other = code;
    VerdictCase one{.suite = "process " + std::to_string(cases.size()), .name = "search"};
    if (code != kPassed) {
      one.outcome = CaseOutcome::failed;
      one.bad = 1;
      one.message =
          code == kFailed ? "found something: see its records" : fmt::format("ended with status {}", code);
    }
    cases.push_back(std::move(one));
  }
  const std::string verdict = failed == 0 && other == 0 ? "PASS" : "FAIL";
  const std::string reason =
      fmt::format("{} of {} processes found nothing, {} found something", passed, o.jobs, failed);
  say(verdict + ": " + reason + "\n");
  return answer.give(fuzz_document(std::move(cases), verdict, failed > 0 ? kFailed : other, reason), o.out,
                     {});
}

int run_fuzz_command(const FuzzOptions& o) {
  VerdictOutput answer(o.answer);
  if (!o.merge.empty()) {
    if (o.answer.json || !o.answer.junit.empty())
      throw InputError("--merge gives no verdict: leave out --json and --junit");
    return merge(o);
  }
  if (o.candidates.empty())
    throw InputError("fuzz: name a candidate: a key or a plugin (assay list names the keys)");
  choose_device(o.device);
  for (std::int64_t V : o.sizes)
    if (V < 0 || V > fuzz::kMostColumns)
      throw InputError(fmt::format("--V {}: must be 0 to {}", V, fuzz::kMostColumns));
  if (o.evaluations < 0) throw InputError(fmt::format("--evaluations {}: must be 0 or more", o.evaluations));
  if (!o.time.empty()) seconds_of(o.time);
  std::optional<Op> op;
  if (!o.op.empty() && !(op = parse_op(o.op))) throw InputError("--op " + o.op + ": unknown");
  const fuzz::Shard shard = fuzz::shard_of(o.shard);
  std::vector<Target> all;
  for (const std::string& word : o.candidates)
    for (Target& found : candidates_named(word, o.how)) all.push_back(std::move(found));
  for (const auto& [v, words, make] : all)
    if (op && !v.does(*op)) throw InputError(fmt::format("--op {}: {} does not compute it", o.op, v.key()));
  prepare_folder(o.out);
  if (!o.corpus.empty()) prepare_folder(o.corpus);
  if (o.jobs > 1 && shard.count == 1 && device_count() > 0 &&
      std::any_of(all.begin(), all.end(), [](const Target& c) { return on_device(c.variant); }))
    return run_on_devices(o, answer);

  Files files;
  std::vector<Record> records;
  std::size_t found = 0, judged = 0, absent = 0;
  std::string first;
  std::vector<VerdictCase> cases;
  for (const Target& one : all) {
    const Variant& v = one.variant;
    if (const std::string why = cannot_launch(v); !why.empty()) {
      fmt::print("{}: not run: {}\n", v.key(), why);
      cases.push_back(not_searched(v.key(), why));
      ++absent;
      continue;
    }
    if (const std::string other = not_plain_rows(v.claim, op.value_or(v.op)); !other.empty()) {
      fmt::print("{}: not searched: genomes are rows of logits: {}\n", v.key(), other);
      cases.push_back(not_searched(v.key(), "genomes are rows of logits: " + other));
      ++absent;
      continue;
    }
    Outcome outcome = fuzz_one(one, op.value_or(v.op), o, shard, files, records);
    found += outcome.found;
    judged += outcome.judged;
    if (first.empty()) first = outcome.first;
    cases.push_back(std::move(outcome.searched));
    for (VerdictCase& c : outcome.findings) cases.push_back(std::move(c));
  }
  if (!records.empty())
    files.emplace_back(std::filesystem::path(o.out) / ("records" + shard.suffix() + ".jsonl"),
                       record_lines(records, environment()));
  write_files(files);
  const auto end = [&](const char* verdict, int status, const std::string& reason) {
    say(fmt::format("{}: {}\n", verdict, reason));
    return answer.give(fuzz_document(std::move(cases), verdict, status, reason), o.out, {});
  };
  if (found > 0) return end("FAIL", kFailed, fmt::format("{} ways to fail; the first: {}", found, first));
  if (absent == all.size()) return end("NOT RUN", kEnvironment, "no candidate can run here");
  if (judged < all.size() - absent || judged == 0)
    return end("FAIL", kFailed, fmt::format("no case of {} candidates was judged", all.size() - judged));
  return end("PASS", kPassed,
             fmt::format("{} candidates searched, nothing found{}", judged,
                         absent > 0 ? fmt::format(" ({} not run)", absent) : ""));
}

}  // namespace

void add_candidate_options(CLI::App& command, CandidateOptions& o, const std::string& in_process) {
  add_source_options(command, o.source);
  command.add_option("--declare", o.source.declare, "the author's promise, as for assay check");
  command.add_option("--timeout", o.timeout_seconds, "seconds of one launch")
      ->capture_default_str()
      ->check(unsaid(CLI::Range(0.1, 1e5)));
  command.add_flag("--in-process", o.in_process, in_process);
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
  add("--seed", std::to_string(o.seed));
  if (o.evaluations > 0) add("--evaluations", std::to_string(o.evaluations));
  for (std::int64_t V : o.sizes) add("--V", std::to_string(V));
  add("--shard", fmt::format("{}/{}", index, o.jobs));
  add("--device", std::to_string((o.device + index) % devices));
  add("--jobs", "1");
  if (o.how.in_process) words.emplace_back("--in-process");
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
            "(best a multiple of 32)");
  add_seed(*c, o->seed, "seed of the search");
  add_whole(*c, "--V", o->sizes, "row lengths to try (any up to 139264, most of them short)");
  c->add_option("--op", o->op, "another op of the candidates: normalizer (each one's own)");
  c->add_option("--corpus", o->corpus, "folder for what was learned: a later run continues from it");
  add_out(*c, o->out, "folder for case files and records.jsonl")->capture_default_str();
  add_whole(*c, "--jobs", o->jobs, "host threads (one per core), or GPUs, each in its own process (one)",
            {.least = 1, .most = 1024});
  c->add_option(
      "--shard", o->shard,
      "index/count, as 0/4: this process is one of several. Under an MPI or Slurm launcher it is read from "
      "OMPI_COMM_WORLD_RANK and _SIZE, PMI_RANK and PMI_SIZE, or SLURM_PROCID and SLURM_NTASKS. Each shard "
      "has its own seed, and its own files for corpora and records (mpirun -n 8 assay fuzz KEY --corpus DIR "
      "--out DIR)");
  c->add_option("--merge", o->merge,
                "only merge the corpora and records of these folders into --corpus and --out");
  add_answer_options(*c, o->answer);
  add_candidate_options(*c, o->how,
                        "run registered keys without a worker process: faster, but a crash ends the search");
  add_device(*c, o->device);
  c->callback([o, &status] { status = run_fuzz_command(*o); });
}

}  // namespace assay

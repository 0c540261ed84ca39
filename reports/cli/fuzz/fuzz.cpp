// assay fuzz: searches an input that breaks each candidate. Findings are shrunk and written as case files.
// Exit status 1 if something was found.
#include <fmt/format.h>
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
#include "kernels/isolation/isolated.hpp"
#include "reference/error.hpp"
#include "reference/fields.hpp"
#include "reference/parallel.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/fuzz/fuzz_options.hpp"
#include "reports/cli/options.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/merge/merge.hpp"
#include "reports/out/journal.hpp"
#include "reports/out/shard_folder.hpp"

namespace assay {
namespace {

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
    say("{}{}: {:.0f} s, {} genomes, {:.3g} elements/s, largest share of a bound {:.3f}, {} failures{}",
        terminal_ ? "\r" : "", key_, r.seconds, r.evaluations,
        static_cast<double>(r.elements) / std::max(r.seconds, 1e-9), r.largest_share, r.failures.size(),
        terminal_ ? "" : "\n");
    drawn_ = true;
  }
  ~CampaignProgress() {
    if (terminal_ && drawn_) say("\n");
  }

 private:
  std::string key_;
  bool terminal_ = isatty(STDERR_FILENO) != 0, drawn_ = false;
  double shown_ = 0;
};

/// The outcome of one candidate's campaign.
struct Outcome {
  bool judged = false;
  std::size_t found = 0;
  std::string first;    // the command that repeats the first finding
  std::string records;  // lines of records.jsonl
};

template <IsA<Outcome> O, class Visit>
void each_field(O& o, Visit& visit) {
  visit("judged", o.judged);
  visit("found", o.found);
  visit("first", o.first);
  visit("records", o.records);
}

/// The finding's record, with the command that repeats its case file.
Record record_of(const fuzz::FuzzFinding& f, const Variant& v, const std::filesystem::path& case_file) {
  Repeat again;
  again.words = "replay " + shell_quoted(case_file.string());
  if (v.origin.find(" --") != std::string::npos) again.words += " " + v.origin;
  Record r = f.record;
  r.reproduce = reproduce(again);
  return r;
}

/// Keeps the state of a search in the journal: at once what failed anew, and the rest so often that an
/// interruption costs a second, or a fiftieth of the search.
class Checkpoints {
 public:
  Checkpoints(Journal& journal, std::string name) : journal_(journal), name_(std::move(name)) {}
  /// True if it was kept.
  bool operator()(const fuzz::SearchResult& r, const fuzz::Corpus& corpus) {
    if (r.failures.size() == failures_ && r.seconds - kept_ < std::max(1.0, r.seconds / 50)) return false;
    failures_ = r.failures.size();
    kept_ = r.seconds;
    journal_.add(name_, to_json(r, corpus));
    return true;
  }

 private:
  Journal& journal_;
  std::string name_;
  std::size_t failures_ = 0;
  double kept_ = -1e9;
};

/// Searches one candidate and writes its case files and its corpus.
Outcome fuzz_one(const Target& candidate, Op op, const FuzzOptions& o, const fuzz::Shard& shard,
                 const OutFolder& out, const std::string& name, Journal& journal) {
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
  c.name = candidate.unique_name();
  c.found = fmt::format("assay fuzz {} --seed {}", candidate.words, o.seed);
  for (std::int64_t V : o.sizes) c.found += fmt::format(" --V {}", V);
  CampaignProgress progress(v.key());
  c.search.progress = [&progress](const fuzz::SearchResult& r) { progress(r); };
  Checkpoints keep(journal, name);
  const auto write_corpus = [&](const std::string& text) {
    if (!o.corpus.empty()) write_files({{fuzz::corpus_file(o.corpus, c.name, shard), text}});
  };
  c.search.learned = [&](const fuzz::SearchResult& r, const fuzz::Corpus& known) {
    if (keep(r, known)) write_corpus(known.text());
  };
  c.at_once = [&](const fuzz::FuzzFinding& f) { write_files({{out / f.name, fuzz::text_of(f.file)}}); };
  if (const std::optional<nlohmann::json> state = journal.take_last(name))
    c.from = fuzz::checkpoint_from_json(*state);
  std::string corpus;
  fuzz::Campaign done = fuzz::run_campaign(candidate.make, op, c, &corpus);
  const fuzz::SearchResult& r = done.result;
  write_corpus(corpus);
  fmt::print(
      "{}: {} genomes ({} passed, {} outside the domain, {} inconclusive), {} rows, {:.4g} elements in "
      "{:.1f} s: "
      "{:.3g} elements/s, {:.3g} genomes/s, {} judged by every check; largest share of a bound {:.3f} ({}); "
      "corpus {}\n",
      v.key(), r.evaluations, r.passed, r.unsupported, r.inconclusive, r.rows,
      static_cast<double>(r.elements), r.seconds, static_cast<double>(r.elements) / std::max(r.seconds, 1e-9),
      static_cast<double>(r.evaluations) / std::max(r.seconds, 1e-9), r.in_full, r.largest_share,
      r.largest_check.empty() ? "none" : r.largest_check, done.remembered);
  Outcome outcome{r.passed > 0 || !r.failures.empty(), done.findings.size(), "", ""};
  for (const fuzz::FuzzFinding& f : done.findings) {
    const Record record = record_of(f, v, out / f.name);
    if (outcome.first.empty()) outcome.first = record.reproduce;
    write_files({{out / f.name, fuzz::text_of(f.file)}});
    outcome.records += record_line(record);
    fmt::print("  {}: {} x {}, {} distinct values: {}\n    {}\n", f.file.fails.text(),
               f.file.trial.logits.rows, f.file.trial.logits.V, fuzz::distinct_values(f.file.trial.logits),
               f.file.detail, record.reproduce);
  }
  if (r.passed + static_cast<std::int64_t>(r.failures.size()) == 0)
    fmt::print("  nothing was judged{}\n", r.reason.empty() ? "" : ": " + r.reason);
  return outcome;
}

/// Starts one process per GPU. Each is a shard of the search with its own device. They share folders, not
/// files.
int run_on_devices(const FuzzOptions& o) {
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
  int passed = 0, failed = 0, other = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
    passed += code == kPassed;
    failed += code == kFailed;
    if (code > kFailed) other = code;
  }
  try {
    merge_parts({o.out}, o.out);
  } catch (const MissingParts& missing) {
    say("{}", missing.text);
  }
  fmt::print("{}: {} of {} processes found nothing, {} found something\n",
             failed == 0 && other == 0 ? "PASS" : "FAIL", passed, o.jobs, failed);
  return failed > 0 ? kFailed : other;
}

int run_fuzz_command(const FuzzOptions& o) {
  if (!o.merge.empty()) return merge_campaigns(o);
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
  for (const Target& t : all)
    if (op && !t.variant.does(*op))
      throw InputError(fmt::format("--op {}: {} does not compute it", o.op, t.variant.key()));
  if (!o.corpus.empty()) prepare_folder(o.corpus);
  if (o.jobs > 1 && shard.count == 1 && device_count() > 0 &&
      std::any_of(all.begin(), all.end(), [](const Target& c) { return on_device(c.variant); }))
    return run_on_devices(o);

  const OutFolder out(shard_folder(o.out, shard));
  Journal journal(out, o.resume);
  const InterruptNote note(journal.path(), journal.finished());
  std::string records;
  std::size_t found = 0, judged = 0, absent = 0;
  std::string first;
  for (const Target& one : all) {
    const Variant& v = one.variant;
    if (const std::string why = cannot_launch(v); !why.empty()) {
      fmt::print("{}: not run: {}\n", v.key(), why);
      ++absent;
      continue;
    }
    if (const std::string other = not_plain_rows(v.claim, op.value_or(v.op)); !other.empty()) {
      fmt::print("{}: not searched: genomes are rows of logits: {}\n", v.key(), other);
      ++absent;
      continue;
    }
    const std::string name = one.words + " as " + v.key();
    Outcome outcome;
    if (const std::optional<nlohmann::json> had = journal.take_last("end of " + name)) {
      outcome = fields_from_json<Outcome>(*had);
      fmt::print("{}: searched before: {} ways to fail\n", v.key(), outcome.found);
    } else {
      outcome = fuzz_one(one, op.value_or(v.op), o, shard, out, name, journal);
      journal.add("end of " + name, fields_to_json(outcome));
    }
    records += outcome.records;
    flush_output();
    found += outcome.found;
    judged += outcome.judged;
    if (first.empty()) first = outcome.first;
  }
  const int status = found > 0                                     ? kFailed
                     : judged == all.size() - absent && judged > 0 ? kPassed
                     : absent == all.size()                        ? kEnvironment
                                                                   : kFailed;
  // Also without a finding, so that none of an older search is left.
  Files files = {{out / "records.jsonl", records}};
  add_shard_file(files, out.path(),
                 shard_end(shard, std::count(records.begin(), records.end(), '\n'), status));
  write_files(files);
  journal.finish();
  if (found > 0)
    fmt::print("FAIL: {} ways to fail; the first: {}\n", found, first);
  else if (status == kEnvironment)
    fmt::print("NOT RUN: no candidate can run here\n");
  else if (status == kFailed)
    fmt::print("FAIL: no case of {} candidates was judged\n", all.size() - judged);
  else
    fmt::print("PASS: {} candidates searched, nothing found{}\n", judged,
               absent > 0 ? fmt::format(" ({} not run)", absent) : "");
  if (const std::string why = why_not_sandboxed(); status == kPassed && !why.empty() && !o.how.in_process)
    fmt::print("  not sandboxed: {}\n", why);
  return status;
}

}  // namespace

void add_candidate_options(CLI::App& command, CandidateOptions& o, const std::string& in_process) {
  add_source_options(command, o.source);
  command.add_option("--declare", o.source.declare, "the author's promise, as for assay check");
  command.add_option("--timeout", o.timeout_seconds, "seconds of one launch")
      ->capture_default_str()
      ->check(unsaid(CLI::Range(0.1, 1e5)));
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
  add("--seed", std::to_string(o.seed));
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
            "(best a multiple of 32)");
  add_seed(*c, o->seed, "seed of the search");
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
  add_device(*c, o->device);
  add_resume(*c, o->resume);
  c->callback([o, &status] { status = run_fuzz_command(*o); });
}

}  // namespace assay

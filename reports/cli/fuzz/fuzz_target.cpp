// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/fuzz/fuzz_target.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "accuracy/reproduce.hpp"
#include "fuzz/case_file.hpp"
#include "fuzz/search/campaign.hpp"
#include "kernels/candidate.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reference/fields.hpp"
#include "reference/parallel.hpp"
#include "reference/text.hpp"
#include "reports/cli/fuzz/branch_watch.hpp"
#include "reports/cli/progress.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"

namespace assay {

double seconds_of(const std::string& text, const std::string& option) {
  char* end = nullptr;
  const double n = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double scale = unit.empty() || unit == "s" ? 1
                       : unit == "ms"              ? 1e-3
                       : unit == "m"               ? 60
                       : unit == "h"               ? 3600
                                                   : 0;
  if (end == text.c_str() || scale == 0 || !(n > 0) || !(n * scale <= 1e7))
    throw InputError(option + " " + text + ": must be a time, as 30s, 5m or 1h");
  return n * scale;
}

std::string words_of_branches(const FuzzOutcome& o) {
  if (o.branches == 0) return {};
  return fmt::format("branches: {} of {} reached by the search, {} constants of comparisons tried as logits",
                     o.branches_reached, o.branches, o.constants);
}

namespace {

/// Progress: on a terminal one line that redraws itself, in a log a line every ten seconds.
class CampaignProgress {
 public:
  explicit CampaignProgress(std::string key) : key_(std::move(key)) {}
  void operator()(const fuzz::SearchResult& r) {
    if (r.seconds - shown_ < (terminal_ ? 0.2 : 10)) return;
    shown_ = r.seconds;
    const std::string line = fmt::format(
        "{}: {:.0f} s, {} genomes, {:.3g} elements/s, largest share of a bound {:.3f}, {} failures", key_,
        r.seconds, r.evaluations, static_cast<double>(r.elements) / std::max(r.seconds, 1e-9),
        r.largest_share, r.failures.size());
    if (terminal_)
      redraw("{}", line);
    else
      say("{}\n", line);
    drawn_ = true;
  }
  ~CampaignProgress() {
    if (terminal_ && drawn_) say("\n");
  }

 private:
  std::string key_;
  bool terminal_ = redraws_lines(), drawn_ = false;
  double shown_ = 0;
};

/// The finding's record, with the command that repeats its case file.
Record record_of(const fuzz::FuzzFinding& f, const std::filesystem::path& case_file) {
  Repeat again;
  again.words = "replay " + shell_quoted(case_file.string());
  if (f.file.with_options) again.words += " " + f.file.origin;
  Record r = f.record;
  r.reproduce = reproduce(again);
  return r;
}

std::string unit_name(const Target& t) { return t.words + " as " + t.variant.key(); }

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

/// The names of the case files that earlier searches of this kernel left in the folder.
std::set<std::string> case_files_in(const std::filesystem::path& folder, const Variant& v, Op op) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json" || !entry.is_regular_file()) continue;
    try {
      const fuzz::CaseFile c = fuzz::case_from_text(read_file(entry.path()), entry.path().string());
      if (c.key == v.key() && c.origin == v.origin && c.op == op)
        names.insert(entry.path().filename().string());
    } catch (const InputError&) {
      // Another file.
    }
  }
  return names;
}

/// Moves what this search did not find again, so that the folder's case files are those of records.jsonl.
void set_aside(const std::set<std::string>& names, const std::filesystem::path& folder) {
  if (names.empty()) return;
  const std::filesystem::path older = folder / "older";
  prepare_folder(older);
  for (const std::string& name : names) {
    const std::string stem = std::filesystem::path(name).stem().string();
    std::filesystem::path to = older / name;
    for (int n = 2; std::filesystem::exists(to); ++n) to = older / fmt::format("{}.{}.json", stem, n);
    std::error_code error;
    std::filesystem::rename(folder / name, to, error);
    if (error)
      throw EnvironmentError(fmt::format("{}: can not be moved to {}: {}", (folder / name).string(),
                                         to.string(), error.message()));
  }
  tell("  {} case file{} of an earlier search, not found again: now in {}\n", names.size(),
       names.size() == 1 ? "" : "s", older.string());
}

/// The inputs that show what a kernel compares: the first ones of a search with this seed and these
/// constants.
std::vector<fuzz::Genome> first_inputs(const fuzz::SearchOptions& search) {
  constexpr int kInputs = 64;
  fuzz::MutationRandom random(search.seed);
  std::vector<fuzz::Genome> all;
  for (int n = 0; n < kInputs; ++n) all.push_back(fuzz::fresh(random, search.domain));
  return all;
}

/// The inputs that a corpus remembers.
std::vector<fuzz::Genome> inputs_of(const std::string& corpus) {
  std::vector<fuzz::Genome> all;
  for (const auto& [feature, entry] : fuzz::corpus_from_text(corpus, "corpus").entries)
    all.push_back(entry.genome);
  return all;
}

}  // namespace

FuzzOutcome fuzz_target(const Target& candidate, Op op, const FuzzOptions& o, const Shard& shard,
                        const std::filesystem::path& out, Journal& journal) {
  const Variant& v = candidate.variant;
  fuzz::CampaignOptions c;
  c.search.on_device = &v;
  c.search.evaluations = o.evaluations;
  c.search.seconds = !o.time.empty() ? seconds_of(o.time) : o.evaluations > 0 ? 0 : 30;
  c.search.seed = shard.seed(o.seed.value);
  c.search.domain = fuzz::domain_of(v, op);
  if (!o.sizes.empty()) {
    c.search.domain.sizes = o.sizes;
    c.search.domain.elements =
        std::max<std::int64_t>(c.search.domain.elements, *std::max_element(o.sizes.begin(), o.sizes.end()));
  }
  const int cores = thread_count(0);
  c.search.workers = on_device(v) ? std::min(4, cores) : o.jobs > 0 ? o.jobs : cores;
  c.suffix = shard.suffix();
  c.corpus = o.corpus;
  c.name = candidate.unique_name();
  c.with_options = candidate.options;
  c.found = fmt::format("assay fuzz {} --seed {}", candidate.words, o.seed.value);
  for (std::int64_t V : o.sizes) c.found += fmt::format(" --V {}", V);
  const std::unique_ptr<BranchWatch> watch = BranchWatch::of(candidate, op, o.how.timeout_seconds);
  if (watch) {
    watch->run(first_inputs(c.search));
    c.search.domain.constants = watch->seen().logits;
  }
  CampaignProgress progress(v.key());
  c.search.progress = [&progress](const fuzz::SearchResult& r) { progress(r); };
  const std::string name = unit_name(candidate);
  Checkpoints keep(journal, name);
  const auto write_corpus = [&](const std::string& text) {
    if (!o.corpus.empty()) write_files({{fuzz::corpus_file(o.corpus, c.name, c.suffix), text}});
  };
  c.search.learned = [&](const fuzz::SearchResult& r, const fuzz::Corpus& known) {
    if (keep(r, known)) write_corpus(known.text());
  };
  c.at_once = [&](const fuzz::FuzzFinding& f) { write_files({{out / f.name, fuzz::text_of(f.file)}}); };
  if (const std::optional<nlohmann::json> state = journal.take_last(name))
    c.from = fuzz::checkpoint_from_json(*state);
  std::set<std::string> earlier = case_files_in(out, v, op);
  std::string corpus;
  fuzz::Campaign done = fuzz::run_campaign(candidate.make, op, c, &corpus);
  const fuzz::SearchResult& r = done.result;
  write_corpus(corpus);
  tell(
      "{}: {} genomes ({} passed, {} outside the domain{}, {} inconclusive), {} rows, {:.4g} elements in "
      "{:.1f} s: "
      "{:.3g} elements/s, {:.3g} genomes/s, {} checked in full; largest share of a bound {:.3f} ({}); "
      "corpus {}\n",
      v.key(), r.evaluations, r.passed, r.unsupported - r.coarse,
      r.coarse > 0 ? fmt::format(", {} too coarse to judge", r.coarse) : "", r.inconclusive, r.rows,
      static_cast<double>(r.elements), r.seconds, static_cast<double>(r.elements) / std::max(r.seconds, 1e-9),
      static_cast<double>(r.evaluations) / std::max(r.seconds, 1e-9), r.in_full, r.largest_share,
      r.largest_check.empty() ? "none" : r.largest_check, done.remembered);
  FuzzOutcome outcome{.judged = r.passed > 0 || !r.failures.empty(),
                      .found = done.findings.size(),
                      .evaluations = r.evaluations,
                      .passed = r.passed,
                      .elements = r.elements,
                      .coarse = r.coarse,
                      .largest_share = r.largest_share,
                      .largest_check = r.largest_check,
                      .seconds = r.seconds,
                      .reason = r.reason,
                      .corpus = corpus};
  if (watch) {
    watch->run(first_inputs(c.search));
    watch->run(inputs_of(corpus));
    const BranchWatch::Seen seen = watch->seen();
    outcome.branches_reached = seen.reached, outcome.branches = seen.all;
    outcome.constants = std::ssize(c.search.domain.constants);
    tell("  {}\n", words_of_branches(outcome));
  }
  for (const fuzz::FuzzFinding& f : done.findings) {
    const Record record = record_of(f, out / f.name);
    if (outcome.first.empty()) outcome.first = record.reproduce;
    write_files({{out / f.name, fuzz::text_of(f.file)}});
    earlier.erase(f.name);
    outcome.records += record_line(record);
    tell("  {}: {} x {}, {} distinct values: {}\n    {}\n", f.file.fails.text(), f.file.trial.logits.rows,
         f.file.trial.logits.V, fuzz::distinct_values(f.file.trial.logits), f.file.detail, record.reproduce);
  }
  set_aside(earlier, out);
  if (r.passed + static_cast<std::int64_t>(r.failures.size()) == 0)
    tell("  nothing was judged{}\n", r.reason.empty() ? "" : ": " + r.reason);
  return outcome;
}

std::vector<FuzzOutcome> run_searches(const std::vector<const Target*>& targets, RunFrame& run,
                                      const std::function<FuzzOutcome(const Target&)>& search) {
  std::vector<RunUnit> units;
  for (const Target* t : targets) units.push_back({"end of " + unit_name(*t)});
  std::vector<bool> made(targets.size());
  return run.units<FuzzOutcome>(
      units, 1,
      [&](std::size_t i) {
        made[i] = true;
        return search(*targets[i]);
      },
      [&](std::size_t i, const FuzzOutcome& o, std::size_t) {
        if (!made[i]) tell("{}: searched before: {} ways to fail\n", targets[i]->variant.key(), o.found);
        std::fflush(stdout);  // whether it can be written is asked when all files are
      });
}

}  // namespace assay

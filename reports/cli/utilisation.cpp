// SPDX-License-Identifier: Apache-2.0
// assay utilisation: how sharp the bounds are. Searches, for every selected key, for the inputs that bring it
// nearest to each bound, and writes the largest shares with the rows they were found on.
#include "reports/runs/utilisation.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "accuracy/reproduce.hpp"
#include "accuracy/search/utilisation_search.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reference/fields.hpp"
#include "reference/parallel.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/out/journal.hpp"
#include "reports/out/out_folder.hpp"
#include "reports/runs/report.hpp"
#include "reports/terminal/answer.hpp"

namespace assay {

template <IsA<SearchResult> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("check", r.check);
  visit("V", r.V);
  visit("any_row", r.any);
  visit("start_utilisation", r.start_utilisation);
  visit("utilisation", r.utilisation);
  visit("start", r.start);
  visit("bits", r.bits);
  visit("violation", r.violation);
}

namespace {

using nlohmann::json;

struct UtilisationArguments {
  Selection selection;
  SearchOptions search;
  std::string out = "out/utilisation";
  int threads = 0;
  int device = 0;
  bool resume = false;
  AnswerOptions answer;
};

/// The results of one key, or why there are none.
struct KeyResults {
  const Variant* variant = nullptr;
  std::string skipped;
  std::vector<SearchResult> results;
};

/// The results of one key as an earlier run finished them, or new ones, which are kept.
std::vector<SearchResult> finished_or_searched(Journal& journal, const Variant& v, const SearchOptions& o) {
  if (const std::optional<json> earlier = journal.take(v.key())) {
    std::vector<SearchResult> results;
    for (const json& j : *earlier) results.push_back(fields_from_json<SearchResult>(j));
    return results;
  }
  const std::vector<SearchResult> results = search_utilisation(v, o);
  json kept = json::array();
  for (const SearchResult& r : results) kept.push_back(fields_to_json(r));
  journal.add(v.key(), kept);
  return results;
}

/// Every key on its own, over all cores; the order of the results is that of the keys.
std::vector<KeyResults> search_all(const std::vector<const Variant*>& keys, const UtilisationArguments& o,
                                   Journal& journal) {
  std::vector<KeyResults> out(keys.size());
  std::mutex mutex;
  std::size_t done = 0;
  parallel_for(keys.size(), o.threads, [&](std::size_t i) {
    KeyResults& k = out[i];
    k.variant = keys[i];
    k.skipped = not_searched(*keys[i]);
    if (k.skipped.empty()) k.skipped = unavailable_reason(keys[i]->backend);
    if (k.skipped.empty()) k.results = finished_or_searched(journal, *keys[i], o.search);
    const std::lock_guard<std::mutex> lock(mutex);
    say("{} of {} keys: {}{}\n", ++done, keys.size(), keys[i]->key(),
        k.skipped.empty() ? "" : ": not searched: " + k.skipped);
  });
  return out;
}

/// Longer rows are not written but made again, by the command beside them; rows of violations always are.
constexpr std::int64_t kLongestRow = 1024;

/// The logits as stored, in hexadecimal digits, 4 for a 16-bit type and 8 for f32, with nothing between.
std::string hex_bits(const SearchResult& r, Dtype dtype) {
  std::string s;
  const int digits = format(dtype).bits / 4;
  for (std::uint64_t b : r.bits) s += fmt::format("{:0{}x}", b, digits);
  return s;
}

/// The largest share of each class and check, and the row that shows it.
struct Peak {
  const KeyResults* key = nullptr;
  const SearchResult* result = nullptr;
};
using Peaks = std::map<std::tuple<std::string, std::string, std::string>, Peak>;  // backend, class, check
Peaks peaks_of(const std::vector<KeyResults>& all) {
  Peaks peaks;
  for (const KeyResults& k : all)
    for (const SearchResult& r : k.results) {
      Peak& p = peaks[{name(k.variant->backend), class_of(key_info(*k.variant)), r.check}];
      if (!p.result || r.utilisation > p.result->utilisation) p = {&k, &r};
    }
  return peaks;
}

std::string again(const KeyResults& k, std::int64_t V, const UtilisationArguments& o) {
  return fmt::format("assay utilisation --key {} --V {} --evaluations {} --seed {}",
                     shell_quoted(k.variant->key()), V, o.search.evaluations, o.search.seed);
}

std::string render_json(const std::vector<KeyResults>& all, const UtilisationArguments& o) {
  json doc;
  for (const auto& [label, value] : environment()) doc["environment"][label] = value;
  doc["seed"] = o.search.seed;
  doc["evaluations"] = o.search.evaluations;
  doc["results"] = json::array();
  for (const KeyResults& k : all) {
    if (!k.skipped.empty()) {
      doc["not_searched"][k.variant->key()] = k.skipped;
      continue;
    }
    for (const SearchResult& r : k.results)
      doc["results"].push_back({{"key", k.variant->key()},
                                {"check", r.check},
                                {"V", r.V},
                                {"start", r.start},
                                {"any_row", r.any},
                                {"start_utilisation", number_to_json(r.start_utilisation)},
                                {"utilisation", number_to_json(r.utilisation)}});
  }
  doc["largest"] = json::array();
  for (const auto& [at, p] : peaks_of(all)) {
    json peak = {{"backend", std::get<0>(at)},   {"class", std::get<1>(at)},
                 {"check", std::get<2>(at)},     {"utilisation", number_to_json(p.result->utilisation)},
                 {"key", p.key->variant->key()}, {"V", p.result->V},
                 {"start", p.result->start},     {"reproduce", again(*p.key, p.result->V, o)}};
    if (p.result->V <= kLongestRow) peak["bits"] = hex_bits(*p.result, p.key->variant->dtype);
    doc["largest"].push_back(std::move(peak));
  }
  doc["violations"] = json::array();
  for (const KeyResults& k : all)
    for (const SearchResult& r : k.results)
      if (!r.violation.empty())
        doc["violations"].push_back({{"key", k.variant->key()},
                                     {"check", r.check},
                                     {"V", r.V},
                                     {"violation", r.violation},
                                     {"bits", hex_bits(r, k.variant->dtype)}});
  return doc.dump(1) + "\n";
}

std::string render_table(const std::vector<KeyResults>& all) {
  const Peaks peaks = peaks_of(all);
  std::string out, backend;
  std::string last;
  for (const auto& [at, unused] : peaks) {
    const auto& [b, kind, check] = at;
    if (b != backend) {
      out += fmt::format(
          "{}### `{}`\n\n| class (V: row length) | element | coherence | row sum | normalizer "
          "|\n|---|--:|--:|--:|--:|\n",
          backend.empty() ? "" : "\n", b);
      backend = b;
      last.clear();
    }
    if (kind == last) continue;
    last = kind;
    out += "| " + kind;
    for (const char* c : kSearchedChecks) {
      const auto p = peaks.find({b, kind, c});
      out += p == peaks.end()
                 ? " | "
                 : fmt::format(" | {:.4f} (V = {})", std::floor(p->second.result->utilisation * 1e4) / 1e4,
                               p->second.result->V);
    }
    out += " |\n";
  }
  return out;
}

/// For programs: one test case a key.
VerdictDocument document_of(const std::vector<KeyResults>& all, const UtilisationArguments& o) {
  VerdictDocument d;
  d.command = "utilisation";
  d.environment = environment();
  std::int64_t searched = 0, violated = 0;
  for (const KeyResults& k : all) {
    VerdictCase c{.suite = k.variant->key(), .name = "largest share of every bound"};
    c.records = std::ssize(k.results);
    if (!k.skipped.empty()) c.outcome = CaseOutcome::skipped, c.message = k.skipped;
    for (const SearchResult& r : k.results) {
      if (r.violation.empty()) continue;
      if (c.outcome != CaseOutcome::failed) {
        c.outcome = CaseOutcome::failed;
        c.message = fmt::format("at V = {}: {}", r.V, r.violation);
        c.reproduce = again(k, r.V, o);
        if (d.reason.empty()) d.reason = k.variant->key() + " " + c.message;
      }
      ++c.bad;
    }
    searched += c.outcome != CaseOutcome::skipped;
    violated += c.outcome == CaseOutcome::failed;
    d.cases.push_back(std::move(c));
  }
  d.exit_status = violated == 0 && searched > 0 ? kPassed : kFailed;
  d.verdict = d.exit_status == kPassed ? "PASS" : "FAIL";
  if (searched == 0) d.reason = "no selected key can be searched here";
  if (d.reason.empty()) d.reason = fmt::format("{} keys searched, no row goes beyond a bound", searched);
  d.counts = {{"planned", std::ssize(all)}, {"run", searched}, {"failed", violated}};
  return d;
}

int run_utilisation_command(UtilisationArguments& o) {
  VerdictOutput answer(o.answer);
  choose_device(o.device);
  for (std::int64_t V : o.search.sizes)
    if (V < 1 || V > 1 << 20) throw InputError(fmt::format("--V {}: must be 1 to 1048576", V));
  if (o.search.evaluations < 0 || o.search.evaluations > 1 << 24)
    throw InputError(fmt::format("--evaluations {}: must be 0 to 16777216", o.search.evaluations));
  // The plan knows which keys a selection means; nothing of it runs.
  o.selection.families = {"probe"};
  const Plan plan = make_plan(o.selection);
  const OutFolder out(o.out);
  Journal journal(out, o.resume);
  const InterruptNote note(journal.path(), journal.finished());
  const auto start = std::chrono::steady_clock::now();
  const std::vector<KeyResults> all = search_all(plan.keys, o, journal);
  VerdictDocument d = document_of(all, o);
  d.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::string table = render_table(all);
  write_files({{out / "utilisation.json", render_json(all, o)}, {out / "utilisation.md", table}});
  journal.finish();
  tell("{}", table);
  const std::string file = std::filesystem::absolute(out / "utilisation.json").string();
  tell("{}: {}{}{}\n", d.verdict, d.reason, d.exit_status == kPassed ? ": " : "; the rows are in ", file);
  return answer.give(std::move(d), out.path(), {"utilisation.json", "utilisation.md"});
}

}  // namespace

void add_utilisation_command(CLI::App& app, int& status) {
  auto o = std::make_shared<UtilisationArguments>();
  CLI::App* c = app.add_subcommand(
      "utilisation", "search for the inputs that bring each key nearest to its bounds: how sharp they are");
  c->add_option("--key", o->selection.keys,
                "keys, as variant/dtype@backend; * and ? match (host and cuda keys)");
  c->add_option("--dtype", o->selection.dtypes, "f16, bf16, f32 (all)");
  add_whole(*c, "--V", o->search.sizes, "row lengths")->capture_default_str();
  add_whole(*c, "--evaluations", o->search.evaluations, "rows tried for each key, check and V")
      ->capture_default_str();
  add_seed(*c, o->search.seed, "seed of the search");
  add_threads(*c, o->threads);
  add_device(*c, o->device);
  add_answer_options(*c, o->answer);
  add_resume(*c, o->resume);
  add_out(*c, o->out, "folder for utilisation.json and utilisation.md")->capture_default_str();
  c->callback([o, &status] { status = run_utilisation_command(*o); });
}

}  // namespace assay

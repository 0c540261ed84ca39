// SPDX-License-Identifier: Apache-2.0
// assay utilisation: how sharp the bounds are. Searches, for every selected key, for the inputs that bring it
// nearest to each bound, and writes the largest shares with the rows they were found on.
#include "reports/runs/utilisation.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "fuzz/search/largest_shares.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reference/fields.hpp"
#include "reference/text.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/run_frame.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/say.hpp"
#include "reports/runs/report.hpp"

namespace assay {

namespace fuzz {
template <IsA<LargestShare> R, class Visit>
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
}  // namespace fuzz

namespace {

using fuzz::LargestShare;
using nlohmann::json;

struct UtilisationArguments {
  FrameOptions run{.out = "out/utilisation"};
  Selection selection;
  fuzz::ShareOptions search;
  int threads = 0;
  int device = 0;
};

/// The results of one key, or why there are none.
struct KeyResults {
  const Variant* variant = nullptr;
  std::string skipped;
  std::vector<LargestShare> results;
};

/// The results of one key, as the journal keeps them.
struct Found {
  std::vector<LargestShare> results;
};
template <IsA<Found> F, class Visit>
void each_field(F& f, Visit& visit) {
  visit("results", f.results);
}

/// Every key on its own, over all cores; the order of the results is that of the keys.
std::vector<KeyResults> search_all(RunFrame& run, const std::vector<const Variant*>& keys,
                                   const UtilisationArguments& o) {
  std::vector<KeyResults> all;
  std::vector<std::size_t> searched;
  std::vector<RunUnit> units;
  std::size_t skipped = 0;
  for (const Variant* v : keys) {
    KeyResults& k = all.emplace_back(KeyResults{v, fuzz::not_searched(*v), {}});
    if (k.skipped.empty()) k.skipped = unavailable_reason(v->backend);
    if (k.skipped.empty()) {
      searched.push_back(all.size() - 1);
      units.push_back({.name = v->key()});
    } else {
      say("{} of {} keys: {}: not searched: {}\n", ++skipped, keys.size(), v->key(), k.skipped);
    }
  }
  run.units<Found>(
      units, o.threads,
      [&](std::size_t i) { return Found{fuzz::largest_shares(*keys[searched[i]], o.search)}; },
      [&](std::size_t i, Found& f, std::size_t done) {
        all[searched[i]].results = std::move(f.results);
        say("{} of {} keys: {}\n", skipped + done, keys.size(), units[i].name);
      });
  return all;
}

/// Longer rows are not written but made again, by the command beside them; rows of violations always are.
constexpr std::int64_t kLongestRow = 1024;

/// The logits as stored, in hexadecimal digits, 4 for a 16-bit type and 8 for f32, with nothing between.
std::string hex_bits(const LargestShare& r, Dtype dtype) {
  std::string s;
  const int digits = format(dtype).bits / 4;
  for (std::uint64_t b : r.bits) s += fmt::format("{:0{}x}", b, digits);
  return s;
}

/// The largest share of each class and check, and the row that shows it.
struct Peak {
  const KeyResults* key = nullptr;
  const LargestShare* result = nullptr;
};
using Peaks = std::map<std::tuple<std::string, std::string, std::string>, Peak>;  // backend, class, check
Peaks peaks_of(const std::vector<KeyResults>& all) {
  Peaks peaks;
  for (const KeyResults& k : all)
    for (const LargestShare& r : k.results) {
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
    for (const LargestShare& r : k.results)
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
    for (const LargestShare& r : k.results)
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
    for (const Check c : fuzz::kSharedBounds) {
      const auto p = peaks.find({b, kind, name(c)});
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
    if (!k.skipped.empty()) c.outcome = Status::not_run, c.message = k.skipped;
    if (k.skipped.empty() && k.results.empty())
      c.outcome = Status::not_run, c.message = "no row of it could be judged";
    for (const LargestShare& r : k.results) {
      if (r.violation.empty()) continue;
      if (c.outcome != Status::fail) {
        c.outcome = Status::fail;
        c.message = fmt::format("at V = {}: {}", r.V, r.violation);
        c.reproduce = again(k, r.V, o);
        if (d.reason.empty()) d.reason = k.variant->key() + " " + c.message;
      }
      ++c.bad;
    }
    searched += c.outcome != Status::not_run;
    violated += c.outcome == Status::fail;
    d.cases.push_back(std::move(c));
  }
  d.exit_status = violated == 0 && searched > 0 ? kPassed : kFailed;
  d.verdict = pass_or_fail(d.exit_status == kPassed);
  if (searched == 0) d.reason = "no selected key can be searched here";
  if (d.reason.empty()) d.reason = fmt::format("{} keys searched, no row goes beyond a bound", searched);
  d.counts = {{"planned", std::ssize(all)}, {"run", searched}, {"failed", violated}};
  return d;
}

int run_utilisation_command(UtilisationArguments& o) {
  RunFrame run(o.run);
  choose_device(o.device);
  for (std::int64_t V : o.search.sizes)
    if (V < 1 || V > 1 << 20) throw InputError(fmt::format("--V {}: must be 1 to 1048576", V));
  if (o.search.evaluations < 0 || o.search.evaluations > 1 << 24)
    throw InputError(fmt::format("--evaluations {}: must be 0 to 16777216", o.search.evaluations));
  // The plan knows which keys a selection means; nothing of it runs.
  o.selection.families = {"probe"};
  const Plan plan = make_plan(o.selection);
  run.open_folder();
  run.open_journal();
  const std::vector<KeyResults> all = search_all(run, plan.keys, o);
  VerdictDocument d = document_of(all, o);
  d.seconds = run.seconds();
  const std::string table = render_table(all);
  run.finish({{"utilisation.json", render_json(all, o)}, {"utilisation.md", table}}, std::ssize(all),
             d.exit_status);
  tell("{}", table);
  tell("{}: {}{}{}\n", d.verdict, d.reason, d.exit_status == kPassed ? ": " : "; the rows are in ",
       run.shown("utilisation.json"));
  return run.give(std::move(d));
}

}  // namespace

static void add_utilisation_command(CLI::App& app, int& status) {
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
  add_frame_options(*c, o->run);
  add_out(*c, o->run.out, "folder for utilisation.json and utilisation.md")->capture_default_str();
  c->callback([o, &status] { status = run_utilisation_command(*o); });
}

const Command utilisation_command = {
    "utilisation",
    add_utilisation_command,
    {"0  searched", "1  an output was wrong, or nothing was judged", kBadCallText},
    {"assay utilisation --key safe_block/f32@host --V 33 --evaluations 20",
     "assay utilisation --key 'online_*' --dtype f16"}};

}  // namespace assay

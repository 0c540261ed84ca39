// SPDX-License-Identifier: Apache-2.0
// The kill matrix as text for the terminal and as JSON lines.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>

#include "accuracy/reproduce.hpp"
#include "accuracy/selftest/mutant_judge.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"
#include "reports/data/files.hpp"
#include "reports/data/html.hpp"
#include "reports/runs/selftest.hpp"

namespace assay {
namespace {

const char* outcome_word(const SelftestEntry& v) {
  if (!v.ran) return "not run";
  if (v.mutant->kind == Kind::right) return v.refused ? "REFUSED" : "accepted";
  return !v.refused ? "SURVIVED" : v.by_named_check() ? "killed" : "killed otherwise";
}

std::string words(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : " ") + n;
  return out;
}

/// "+-+" for the three rules: + accepted, - not.
std::string marks(const SelftestEntry& v, const std::array<bool, kPeerRules>& accepts) {
  std::string out;
  for (const bool a : accepts) out += v.peers_ran ? a ? '+' : '.' : ' ';
  return out;
}

}  // namespace

std::string render_selftest_terminal(const Selftest& s, const std::string& page) {
  const SelftestCounts n = count(s);
  std::string out = fmt::format("{}{}: {}. Took {:.1f} s.\n", selftest_word(s),
                                s.part.empty() ? "" : " (" + s.part + ")", selftest_verdict(s), s.seconds);
  int shown = 0;
  for (const SelftestEntry& v : s.entries)
    if (v.ran && !v.as_expected() && ++shown <= 3)
      out += fmt::format("  {} {}: {} {}\n    assay selftest --key {}\n", v.mutant->id, v.mutant->fault,
                         outcome_word(v), v.detail, v.mutant->fault);
  if (n.compared > 0) {
    out +=
        fmt::format("\nOf {} faults and cheats, so many pass by the rules of other projects:\n", n.compared);
    for (std::size_t r = 0; r < kPeerRules; ++r)
      out += fmt::format("  {:<15} {:>4} on the inputs that such tests draw ({} x 1024), {:>4} on ours\n",
                         peer::rules()[r].name, n.pass_usual[r], s.peer_rows, n.pass_killing[r]);
  }
  out += fmt::format("\n{:<5} {:<32} {:<16} {:>7} {:<11} {:<17} {:<6} {:<6} {}\n", "id", "entry", "family",
                     "V", "named", "outcome", "usual", "ours", "failed checks");
  for (const SelftestEntry& v : s.entries) {
    const Expect& e = v.mutant->expect;
    const bool single = v.mutant->single_case();
    out += fmt::format(
        "{:<5} {:<32} {:<16} {:>7} {:<11} {:<17} {:<6} {:<6} {}\n", v.mutant->id,
        v.mutant->fault + std::string(v.mutant->variant.backend == Backend::cuda ? " (cuda)" : ""),
        single ? e.family : std::string("group ") + e.group, single ? std::to_string(e.V) : "", e.check,
        outcome_word(v), marks(v, v.usual), marks(v, v.killing), v.ran ? words(v.failed) : v.detail);
  }
  out += "usual, ours: + passes, . fails by";
  for (std::size_t r = 0; r < kPeerRules; ++r)
    out += fmt::format("{} {}", r ? "," : "", peer::rules()[r].name);
  out += "\n";
  if (!page.empty()) out += "\n" + page + "\n";
  return out;
}

template <>
nlohmann::json fact_to_json(const SelftestEntry& v) {
  const Mutant& m = *v.mutant;
  nlohmann::json j = {{"id", m.id},
                      {"entry", m.fault},
                      {"kind", name(m.kind)},
                      {"what", what_of(m.id)},
                      {"key", m.variant.key()},
                      {"op", name(m.variant.op)},
                      {"family", m.expect.family},
                      {"V", m.expect.V},
                      {"group", m.expect.group},
                      {"named_check", m.expect.check},
                      {"outcome", outcome_word(v)},
                      {"failed", v.failed},
                      {"detail", v.detail},
                      {"reproduce", reproduce({"selftest --key " + shell_quoted(m.fault)})}};
  if (keeps_a_set(m.variant.op))
    j["threshold"] = m.expect.pick.threshold;
  else
    j["k"] = selects(m.variant.op) ? m.expect.pick.k : 0;
  if (v.peers_ran)
    for (std::size_t r = 0; r < kPeerRules; ++r)
      j["peers"][peer::rules()[r].name] = {{"usual", v.usual[r]}, {"ours", v.killing[r]}};
  return j;
}

namespace {

/// The entry of a GPU as a line of selftest.jsonl tells it, for a build without CUDA, which has none. It is
/// shown and never run.
const Mutant* told_entry(const nlohmann::json& j) {
  static std::deque<Mutant> all;
  static std::deque<std::string> texts;
  const auto kept = [&](const char* field) { return texts.emplace_back(j.at(field)).c_str(); };
  Mutant m;
  const std::string key = j.at("key"), kind = j.at("kind");
  const std::size_t slash = key.find('/'), at = key.find('@');
  m.variant.variant = key.substr(0, slash);
  const std::string types = key.substr(slash + 1, at - slash - 1);
  const std::optional<Dtype> dtype = parse_dtype(types.substr(0, types.find(':')));
  const std::optional<Op> op = parse_op(j.at("op").get<std::string>());
  if (!dtype || !op)
    throw InputError(fmt::format("this build has no entry {} {}", j.at("id").get<std::string>(), key));
  m.variant.dtype = *dtype, m.variant.op = *op;
  if (const std::size_t out = types.find(':'); out != types.npos)
    m.variant.out_dtype = parse_dtype(types.substr(out + 1));
  m.variant.backend = Backend::cuda;
  m.id = kept("id"), m.fault = kept("entry");
  m.kind = kind == name(Kind::fault) ? Kind::fault : kind == name(Kind::cheat) ? Kind::cheat : Kind::right;
  m.expect.family = kept("family"), m.expect.check = kept("named_check"), m.expect.group = kept("group");
  m.expect.V = j.at("V");
  if (keeps_a_set(m.variant.op))
    m.expect.pick.threshold = j.value("threshold", 0.0);
  else
    m.expect.pick.k = j.at("k");
  return &all.emplace_back(std::move(m));
}

}  // namespace

template <>
SelftestEntry fact_from_json(const nlohmann::json& j) {
  SelftestEntry e;
  const std::string id = j.at("id"), fault = j.at("entry"), key = j.at("key"), what = j.at("outcome");
  for (const Mutant& m : mutants())
    if (m.id == id && m.fault == fault && m.variant.key() == key) e.mutant = &m;
  const bool known = e.mutant != nullptr;
  if (!known && key.ends_with("@cuda")) e.mutant = told_entry(j);
  if (!e.mutant) throw InputError(fmt::format("this build has no entry {} {}", id, key));
  e.ran = what != "not run";
  e.refused = what == "REFUSED" || what.starts_with("killed");
  e.failed = j.at("failed");
  e.detail = j.at("detail");
  e.reproduce = j.at("reproduce");
  e.peers_ran = j.contains("peers");
  if (e.peers_ran)
    for (std::size_t r = 0; r < kPeerRules; ++r) {
      const nlohmann::json& rule = j["peers"].at(peer::rules()[r].name);
      e.usual[r] = rule.at("usual"), e.killing[r] = rule.at("ours");
    }
  if (known && outcome_word(e) != what)
    throw InputError(fmt::format("{}: \"{}\" contradicts the failed checks", fault, what));
  return e;
}

std::string render_selftest_json_lines(const Selftest& s) {
  std::string out;
  for (const SelftestEntry& v : s.entries) {
    nlohmann::json j = fact_to_json(v);
    if (out.empty())
      j["run"] = {{"environment", s.environment}, {"peer_rows", s.peer_rows}, {"seconds", s.seconds}};
    out += j.dump() + "\n";
  }
  return out;
}

Selftest read_selftest(const std::filesystem::path& file) {
  Selftest s;
  for_each_line(file, [&](const std::string& line) {
    const nlohmann::json j = parse_json_line(line);
    s.entries.push_back(fact_from_json<SelftestEntry>(j));
    if (!j.contains("run")) return;
    // The parts of a run had the same inputs, and may have run at the same time.
    const nlohmann::json& run = j["run"];
    if (s.environment.empty()) s.environment = run.at("environment");
    s.peer_rows = run.at("peer_rows");
    s.seconds = std::max(s.seconds, run.at("seconds").get<double>());
  });
  // As a whole run has them: all are of one vector.
  std::stable_sort(s.entries.begin(), s.entries.end(),
                   [](const SelftestEntry& a, const SelftestEntry& b) { return a.mutant < b.mutant; });
  return s;
}

}  // namespace assay

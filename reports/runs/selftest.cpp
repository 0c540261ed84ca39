// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/selftest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "accuracy/conformance/inputs.hpp"
#include "accuracy/selftest/peer_rules.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "reference/error.hpp"
#include "reference/fields.hpp"
#include "reference/nearest_word.hpp"
#include "reference/parallel.hpp"
#include "reports/data/environment.hpp"

namespace assay {
namespace {

Tensor killing_inputs(const Mutant& m) {
  const bool probe = m.expect.family == std::string_view(kProbeFamily);
  return conformance::make_rows(probe ? "normal_10" : m.expect.family, m.variant.dtype, m.expect.V,
                                mutant_rows(m), 1);
}

/// Applies the peers' rules to the outputs of one launch in this process.
void ask_peers(SelftestEntry& v, std::int64_t rows) {
  const Mutant& m = *v.mutant;
  constexpr std::int64_t kUsualV = 1024;
  const auto accepted = [&](std::size_t rule, const Tensor& logits) {
    const std::vector<peer::Pair> pairs = peer::outputs(m.variant, m.variant.op, logits, m.expect.k);
    return !pairs.empty() && peer::rules()[rule].accepts(m.variant.out(), m.variant.op, logits.V, pairs);
  };
  const Tensor normal = peer::normal_inputs(m.variant.dtype, rows, kUsualV);
  const Tensor dnn = peer::benchdnn_inputs(m.variant.dtype, rows, kUsualV);
  const Tensor ours = killing_inputs(m);
  for (std::size_t rule = 0; rule < kPeerRules; ++rule) {
    const bool own_inputs = std::string_view(peer::rules()[rule].name) == "benchdnn";
    v.usual[rule] = accepted(rule, own_inputs ? dnn : normal);
    v.killing[rule] = accepted(rule, ours);
  }
  v.peers_ran = true;
}

}  // namespace

template <IsA<SelftestEntry> E, class Visit>
void each_field(E& e, Visit& visit) {
  visit("ran", e.ran);
  visit("refused", e.refused);
  visit("cases", e.cases);
  visit("failed", e.failed);
  visit("detail", e.detail);
  visit("reproduce", e.reproduce);
  visit("peers_ran", e.peers_ran);
  visit("usual", e.usual);
  visit("killing", e.killing);
}

nlohmann::json to_json(const SelftestEntry& e) { return fields_to_json(e); }

SelftestEntry selftest_entry_from_json(const nlohmann::json& j, const Mutant& mutant) {
  auto e = fields_from_json<SelftestEntry>(j);
  e.mutant = &mutant;
  return e;
}

Selftest run_selftest(const SelftestOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Selftest s;
  s.environment = environment();
  s.peer_rows = options.quick ? 16 : 128;
  for (const Mutant& m : mutants())
    if (options.name.empty() || options.name == m.fault || options.name == m.id ||
        options.name == m.variant.key()) {
      s.entries.emplace_back();
      s.entries.back().mutant = &m;
    }
  if (s.entries.empty()) {
    std::vector<std::string> known;
    for (const Mutant& m : mutants()) known.insert(known.end(), {m.fault, m.variant.key()});
    throw InputError("--key " + options.name + ": no such entry; assay selftest --list names them all" +
                     did_you_mean(options.name, known));
  }
  std::vector<SelftestEntry> mine;
  for (std::size_t i = 0; i < s.entries.size(); ++i)
    if (i % static_cast<std::size_t>(options.parts) == static_cast<std::size_t>(options.part))
      mine.push_back(std::move(s.entries[i]));
  s.entries = std::move(mine);

  MutantInputs inputs(options.quick);
  std::mutex progress;
  std::int64_t done = 0;
  parallel_for(s.entries.size(), options.threads, [&](std::size_t i) {
    SelftestEntry& v = s.entries[i];
    if (std::optional<SelftestEntry> had = options.earlier ? options.earlier(*v.mutant) : std::nullopt) {
      v = std::move(*had);
    } else {
      static_cast<MutantVerdict&>(v) = judge_mutant(*v.mutant, inputs);
      if (v.ran && v.mutant->single_case() && *v.mutant->expect.family) ask_peers(v, s.peer_rows);
      if (options.keep) options.keep(v);
    }
    const std::lock_guard<std::mutex> lock(progress);
    ++done;
    if (options.progress) options.progress(done, static_cast<std::int64_t>(s.entries.size()));
  });
  s.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return s;
}

SelftestCounts count(const Selftest& s) {
  SelftestCounts n;
  for (const SelftestEntry& v : s.entries) {
    if (!v.ran) {
      ++n.not_run;
      continue;
    }
    if (v.mutant->kind == Kind::right) {
      ++n.right;
      n.accepted += !v.refused;
      continue;
    }
    if (v.mutant->kind == Kind::cheat) {
      ++n.cheats;
      n.cheats_refused += v.refused;
    } else {
      ++n.faults;
      n.killed += v.refused;
    }
    n.survived += !v.refused;
    n.by_name += v.by_named_check();
    if (!v.peers_ran) continue;
    ++n.compared;
    for (std::size_t rule = 0; rule < kPeerRules; ++rule) {
      n.pass_usual[rule] += v.usual[rule];
      n.pass_killing[rule] += v.killing[rule];
    }
  }
  return n;
}

bool selftest_passed(const Selftest& s) {
  const SelftestCounts n = count(s);
  return (n.faults + n.cheats + n.right > 0 || !s.part.empty()) &&
         std::all_of(s.entries.begin(), s.entries.end(),
                     [](const SelftestEntry& v) { return !v.ran || v.as_expected(); });
}

const char* selftest_word(const Selftest& s) {
  const SelftestCounts n = count(s);
  return !selftest_passed(s) ? "FAIL" : n.faults + n.cheats + n.right == 0 ? "NOT RUN" : "PASS";
}

std::string selftest_verdict(const Selftest& s) {
  const SelftestCounts n = count(s);
  if (n.faults + n.cheats + n.right == 0) return "nothing ran";
  std::string out = fmt::format(
      "{} of {} faults killed, {} of {} cheats refused ({} by the check they name), {} of {} "
      "right kernels accepted",
      n.killed, n.faults, n.cheats_refused, n.cheats, n.by_name, n.accepted, n.right);
  if (n.not_run > 0) out += fmt::format("; {} not run here", n.not_run);
  return out;
}

}  // namespace assay

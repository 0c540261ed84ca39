// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/selftest.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accuracy/conformance/inputs.hpp"
#include "accuracy/selftest/mutant_judge.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"

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
    const std::vector<peer::Pair> pairs = peer::outputs(m.variant, m.variant.op, logits, m.expect.pick);
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

std::vector<const Mutant*> selftest_entries(const std::string& name) {
  std::vector<const Mutant*> all;
  std::vector<std::string> known;
  for (const Mutant& m : mutants()) {
    if (name.empty() || name == m.fault || name == m.id || name == m.variant.key()) all.push_back(&m);
    known.insert(known.end(), {m.fault, m.variant.key()});
  }
  if (all.empty())
    throw InputError("--key " + name + ": no such entry; assay selftest --list names them all" +
                     did_you_mean(name, known));
  return all;
}

SelftestEntry judge_entry(const Mutant& mutant, MutantInputs& inputs, std::int64_t peer_rows) {
  SelftestEntry e;
  static_cast<MutantVerdict&>(e) = judge_mutant(mutant, inputs);
  if (e.ran && mutant.single_case() && *mutant.expect.family) ask_peers(e, peer_rows);
  return e;
}

std::string identity(const SelftestEntry& e) {
  return fmt::format("{} {}", e.mutant->id, e.mutant->variant.key());
}

Status outcome(const SelftestEntry& e) {
  return !e.ran ? Status::not_run : e.as_expected() ? Status::pass : Status::fail;
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
                     [](const SelftestEntry& v) { return outcome(v) != Status::fail; });
}

const char* selftest_word(const Selftest& s) {
  const SelftestCounts n = count(s);
  return !selftest_passed(s)                  ? name(Verdict::fail)
         : n.faults + n.cheats + n.right == 0 ? name(Verdict::not_run)
                                              : name(Verdict::pass);
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

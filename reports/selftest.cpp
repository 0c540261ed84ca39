#include "reports/selftest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "accuracy/behaves_like.hpp"
#include "accuracy/checker.hpp"
#include "accuracy/peer_rules.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reports/report.hpp"
#include "reports/selftest_groups.hpp"

namespace assay {
namespace {

Tensor killing_inputs(const Mutant& m) {
  const bool probe = m.expect.family == std::string_view(kProbeFamily);
  const Family& family = *find_family(probe ? "normal_10" : m.expect.family);
  return make_input(family, m.variant.dtype, m.expect.V, mutant_rows(m), 1);
}

/// The peers' rules on the outputs of one launch in this process.
void ask_peers(MutantVerdict& v, std::int64_t rows) {
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

void take(MutantVerdict& v, const Record& r) {
  v.reproduce = r.reproduce;
  if (r.status == Status::not_run || r.status == Status::unsupported) {
    if (v.detail.empty()) v.detail = r.reason;
    return;
  }
  v.ran = true;
  v.refused = v.refused || r.status != Status::pass;
  for (const CheckResult& c : r.checks) {
    if (c.failed == 0) continue;
    if (std::find(v.failed.begin(), v.failed.end(), c.name) == v.failed.end()) v.failed.push_back(c.name);
    if (v.detail.empty() || c.name == v.mutant->expect.check) v.detail = c.name + ": " + c.detail;
  }
  if (v.refused && v.failed.empty()) v.detail = r.reason;
}

}  // namespace

bool MutantVerdict::by_named_check() const {
  return std::find(failed.begin(), failed.end(), mutant->expect.check) != failed.end();
}

std::int64_t mutant_rows(const Mutant& m) {
  if (m.expect.rows > 0) return m.expect.rows;
  const Family* family = find_family(m.expect.family);
  const std::int64_t rows = family ? report_rows(*family, m.variant.dtype, m.expect.V, false) : 1;
  return std::max<std::int64_t>(3, rows);
}

MutantVerdict judge_mutant(const Mutant& m) {
  MutantVerdict v;
  v.mutant = &m;
  v.detail = unavailable_reason(m.variant.backend);
  if (!v.detail.empty()) return v;
  if (!m.single_case()) {
    for (const Record& r : run_group(m, v.detail)) take(v, r);
  } else if (m.expect.family == std::string_view(kProbeFamily)) {
    take(v, probe_record(m.variant, behaviour_of(m.variant)));
  } else {
    const Case c(*find_family(m.expect.family), m.variant.dtype, m.expect.V, mutant_rows(m), 1);
    take(v, check_case(m.variant, c, m.variant.op, m.expect.k));
  }
  if (v.ran && !v.refused) v.detail.clear();
  return v;
}

Selftest run_selftest(const SelftestOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Selftest s;
  s.environment = environment();
  s.peer_rows = options.quick ? 16 : 128;
  for (const Mutant& m : mutants())
    if (options.name.empty() || options.name == m.fault || options.name == m.id ||
        options.name == m.variant.key()) {
      s.verdicts.emplace_back();
      s.verdicts.back().mutant = &m;
    }
  if (s.verdicts.empty())
    throw InputError("--key " + options.name + ": no such entry; assay selftest --list names them all");

  std::atomic<std::size_t> next{0};
  std::mutex progress;
  std::int64_t done = 0;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < s.verdicts.size();) {
      MutantVerdict& v = s.verdicts[i];
      v = judge_mutant(*v.mutant);
      if (v.ran && v.mutant->single_case()) ask_peers(v, s.peer_rows);
      const std::lock_guard<std::mutex> lock(progress);
      ++done;
      if (options.progress) options.progress(done, static_cast<std::int64_t>(s.verdicts.size()));
    }
  };
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> workers;
  for (int t = 0; t < (options.threads > 0 ? options.threads : cores); ++t) workers.emplace_back(work);
  for (std::thread& w : workers) w.join();
  s.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return s;
}

SelftestCounts count(const Selftest& s) {
  SelftestCounts n;
  for (const MutantVerdict& v : s.verdicts) {
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
  return n.faults + n.cheats + n.right > 0 &&
         std::all_of(s.verdicts.begin(), s.verdicts.end(),
                     [](const MutantVerdict& v) { return !v.ran || v.as_expected(); });
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

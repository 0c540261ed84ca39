// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/adopt/new_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>

#include "accuracy/conformance/conformance.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/engine.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/candidate.hpp"
#include "reference/error.hpp"
#include "reference/inputs/inputs.hpp"
#include "reference/k_range.hpp"
#include "reference/parallel.hpp"
#include "reports/adopt/conclude.hpp"
#include "reports/adopt/replay.hpp"
#include "reports/cli/adopt/verification.hpp"
#include "reports/cli/commands.hpp"
#include "reports/data/tally.hpp"
#include "reports/targets/candidates.hpp"

namespace assay {
namespace {

/// Throws InputError if no problem is like this: somebody has written the case, or another version has.
void require_possible(const CertifiedCase& c) {
  const auto op = parse_op(c.op);
  if (!op) throw InputError("op " + c.op + ": unknown");
  if (const std::string why = why_not(*op, c.pick()); !why.empty()) throw InputError(why);
  if (c.V < 0 || c.rows < 0)
    throw InputError(fmt::format("V {}, rows {}: must not be negative", c.V, c.rows));
  if (!may_be_replayed(c.group, c.rows, c.V))
    throw InputError(
        fmt::format("group {}, V {}, rows {}: no certificate has such a case", c.group, c.V, c.rows));
}

/// Runs one case again, alone.
Record run_again(const CertifiedCase& c, const Certificate& from, const Variant& kernel,
                 const std::string& words) {
  require_possible(c);
  conformance::ConformanceOptions o;
  o.only = {c.group};
  o.extent = from.extent == "quick"  ? conformance::Extent::quick
             : from.extent == "full" ? conformance::Extent::full
                                     : conformance::Extent::normal;
  // Probes choose their own sizes: by those, none is planned.
  if (c.family == kProbeFamily) {
    o.narrow.family = c.family;
  } else {
    o.narrow = {c.family, c.setup, c.V, c.rows, {}, {}, parse_op(c.op)};
    if (c.k > 0) o.narrow.pick.k = c.k;
    if (c.threshold > 0) o.narrow.pick.threshold = c.threshold;
  }
  o.seed = c.seed;
  o.threads = 1;
  o.target = words;
  o.patience = std::min(1.0, from.target.timeout_seconds / TargetOptions().timeout_seconds);
  // One worker for all cases: that of `kernel`.
  conformance::ConformanceResult result = conformance::run_conformance([&] { return kernel; }, o);
  // A case without a setup has no word that tells it from those that have one.
  const auto at = std::find_if(result.records.begin(), result.records.end(), [&](const Record& r) {
    return r.setup == Setup(c.setup) && r.family == c.family && r.V == c.V && r.rows == c.rows &&
           r.pick() == c.pick() && r.op == c.op;
  });
  if (at == result.records.end()) throw InputError("no such case is planned");
  return std::move(*at);
}

}  // namespace

CaseRunner::CaseRunner(const Certificate& c, const std::vector<Target>& targets) {
  for (const Target& t : targets)
    for (const CertifiedKernel& k : c.kernels) {
      if (k.key != t.variant.key()) continue;
      const Target within = with_declared(t, k.undeclared);
      made_.emplace(k.key, Made{within.make(), within.words});
    }
}

Record CaseRunner::run(const CertifiedCase& one, const Certificate& c) const {
  const Made& m = made_.at(one.key);
  return run_again(one, c, m.variant, m.words);
}

namespace {

constexpr const char* kDrawnFamily = "normal_1";

/// False for a family whose rows are the same for every seed.
bool depends_on_seed(const std::string& family, std::uint64_t seed) {
  constexpr std::int64_t kRows = 4, kLength = 64;
  const auto rows = [&](std::uint64_t s) {
    return conformance::make_rows(family, Dtype::f32, kLength, kRows, s).bytes;
  };
  return rows(seed) != rows(seed + 1);
}

/// A length from half of V to twice V that the kernel takes.
std::int64_t drawn_length(const CertifiedCase& like, std::size_t number, std::uint64_t seed,
                          const Variant& v) {
  std::mt19937_64 random(seed + 0x9e3779b97f4a7c15u * (number + 1));
  const std::int64_t low = std::max<std::int64_t>({1, like.V / 2, selects(v.op) ? like.k : 1});
  const std::int64_t high = std::max(low, std::min(2 * like.V, like.V + (1 << 16)));
  const auto V = low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  return conformance::nearest_V(v, V, like.rows);
}

}  // namespace

std::optional<Record> new_case(const CertifiedCase& like, std::size_t number, std::uint64_t seed,
                               const Certificate& c, const CaseRunner& place) {
  CertifiedCase drawn = like;
  drawn.seed = seed;
  const bool probe = like.family == kProbeFamily;
  if (!probe && find_family(like.family) && !depends_on_seed(like.family, seed)) drawn.family = kDrawnFamily;
  CertifiedCase longer = drawn;
  if (!probe && like.V > 0) longer.V = drawn_length(like, number, seed, place.variant(like.key));
  CertifiedCase as_it_was = like;
  as_it_was.seed = seed;
  for (const CertifiedCase& one : {number % 2 == 1 ? longer : drawn, drawn, as_it_was}) try {
      return place.run(one, c);
    } catch (const InputError&) {
      // The group has no such case.
    }
  return {};
}

bool is_wrong(const Record& r) {
  return r.status == Status::fail || r.status == Status::crashed || r.status == Status::hung;
}

std::string why_wrong(const Record& r) {
  const CheckResult* const check = first_failed(r);
  const std::string what = fmt::format("{} {} {} V={} rows={}", r.key, r.group, r.family, r.V, r.rows);
  if (!check) return fmt::format("{}: {}: {}", what, name(r.status), r.reason);
  return fmt::format("{}: {}{}{}", what, name(check->check), check->detail.empty() ? "" : ": ",
                     check->detail);
}

namespace {

/// Another worker on a GPU, or of Python, costs more than a few cases.
int threads_for(const ReplayOptions& o, const std::vector<Target>& targets) {
  const bool cheap = std::all_of(targets.begin(), targets.end(), [](const Target& t) {
    return !on_device(t.variant) && !is_python_callable(t.words);
  });
  return o.threads > 0 || cheap ? o.threads : 1;
}

/// Every check that a replayed case has was made when its kernel was certified.
void require_checks(const Certificate& c, VerifyResult& v) {
  for (const CertifiedKernel& k : c.kernels) {
    std::set<std::string> missing;
    for (const Record& r : v.records)
      for (const CheckResult& check : r.checks)
        if (r.key == k.key && r.status == Status::pass && check.judged > 0 &&
            std::ranges::find(k.checks, name(check.check), &CertifiedCheck::name) == k.checks.end())
          missing.insert(name(check.check));
    for (const std::string& check : missing)
      v.differences.push_back(
          fmt::format("{}: its checks do not have {}, which was made again and must be there", k.key, check));
  }
}

/// As many cases as were replayed, with inputs that nobody has seen before: whoever made the kernel could
/// know the others.
void judge_new_cases(const Certificate& c, const ReplayOptions& o, const std::vector<Target>& targets,
                     const std::vector<const CertifiedCase*>& like, int threads,
                     std::vector<std::optional<CaseRunner>>& places, VerifyResult& v) {
  std::vector<std::optional<Record>> made(like.size());
  run_units(std::vector<RunUnit>(like.size()), threads, [&](std::size_t i, int worker) {
    std::optional<CaseRunner>& place = places[static_cast<std::size_t>(worker)];
    if (!place) place.emplace(c, targets);
    if (place->has(like[i]->key)) made[i] = new_case(*like[i], i, o.seed, c, *place);
  });
  for (const std::optional<Record>& r : made) {
    if (!r) continue;
    v.fresh += was_judged(*r);
    if (is_wrong(*r)) v.fresh_wrong.push_back(*r);
  }
  if (v.fresh == 0 && v.fresh_wrong.empty() && !like.empty())
    v.differences.emplace_back(
        "no new case could be judged, so nothing is shown of inputs that were not known before");
}

}  // namespace

bool is_right(const Certificate& c) { return c.exit_status == kPassed || c.exit_status == kUndeclaredLimits; }

void replay_cases(const Certificate& c, const ReplayOptions& o, const std::vector<Target>& targets,
                  bool same_bytes, VerifyResult& v) {
  const std::vector<const CertifiedCase*> sample = sample_of(c.cases, o.cases, o.seed);
  const int threads = threads_for(o, targets);
  std::vector<std::optional<CaseRunner>> places(
      static_cast<std::size_t>(workers_for(sample.size(), threads)));
  std::vector<std::optional<Record>> records(sample.size());
  std::vector<char> bits(sample.size(), 0);
  v.cases.resize(sample.size());
  run_units(std::vector<RunUnit>(sample.size()), threads, [&](std::size_t i, int worker) {
    std::optional<CaseRunner>& place = places[static_cast<std::size_t>(worker)];
    if (!place) place.emplace(c, targets);
    const CertifiedCase& one = *sample[i];
    Replayed& r = v.cases[i] = {&one, ""};
    const auto kernel = std::find_if(c.kernels.begin(), c.kernels.end(),
                                     [&](const CertifiedKernel& k) { return k.key == one.key; });
    if (kernel == c.kernels.end() || !place->has(one.key)) {
      r.difference = "there is no kernel " + one.key + " now";
      return;
    }
    bits[i] = same_bytes && kernel->on_host && !is_python_callable(c.target.word);
    try {
      records[i] = place->run(one, c);
      r.difference = difference(one, *records[i], bits[i] ? Agreement::bits : Agreement::verdicts);
    } catch (const InputError& e) {
      r.difference = std::string("it can not be made again: ") + e.what();
    }
  });
  v.bits = std::any_of(bits.begin(), bits.end(), [](char b) { return b != 0; });
  for (std::optional<Record>& r : records)
    if (r) v.records.push_back(std::move(*r));
  require_checks(c, v);
  if (is_right(c)) judge_new_cases(c, o, targets, sample, threads, places, v);
}

}  // namespace assay

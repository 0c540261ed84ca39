// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "kernels/candidate.hpp"
#include "reference/error.hpp"
#include "reference/parallel.hpp"
#include "reports/adopt/replay.hpp"
#include "reports/cli/adopt/case_runner.hpp"
#include "reports/cli/adopt/new_cases.hpp"
#include "reports/cli/adopt/verification.hpp"
#include "reports/cli/commands.hpp"
#include "reports/data/tally.hpp"
#include "reports/targets/candidates.hpp"

namespace assay {
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
  parallel_for_workers(like.size(), threads, [&](std::size_t i, int worker) {
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
  parallel_for_workers(sample.size(), threads, [&](std::size_t i, int worker) {
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

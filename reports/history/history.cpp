// SPDX-License-Identifier: Apache-2.0
#include "reports/history/history.hpp"

#include <algorithm>
#include <cmath>

#include "reports/sweep/data/statistics.hpp"

namespace assay {
namespace {

/// By how much a figure may differ: a part of its value, and in any case `least`.
struct ChangeLimit {
  double part, least, part_of_other_inputs;
};
constexpr ChangeLimit kExact{0, 0, 0}, kErrorStep{0.01, 0.01, 0.1}, kSpeedStep{0.05, 0, 0.05};

/// The word after "commit " in "0.1.0 (commit 0123456789ab)".
std::string commit_in(const std::string& text) {
  const auto at = text.find("commit ");
  if (at == std::string::npos) return text;
  return text.substr(at + 7, text.find_first_of(" )", at + 7) - at - 7);
}

std::optional<double> value(const Extreme& e) { return e.any() ? std::optional(e.value) : std::nullopt; }

bool same_machine(const HistoryRun& a, const HistoryRun& b) { return a.machine == b.machine; }
bool same_extent(const HistoryRun& a, const HistoryRun& b) { return a.quick == b.quick; }
bool any(const HistoryRun&, const HistoryRun&) { return true; }

/// The last report before the newest that measured the figure, of those that `alike` takes.
template <class Get>
std::optional<std::pair<double, const HistoryRun*>> before(const std::vector<HistoryRun>& runs,
                                                           const std::string& key, const Get& figure,
                                                           bool (*alike)(const HistoryRun&,
                                                                         const HistoryRun&)) {
  for (std::size_t i = runs.size() - 1; i-- > 0;) {
    const auto at = runs[i].keys.find(key);
    if (at == runs[i].keys.end() || !alike(runs[i], runs.back())) continue;
    if (const std::optional<double> v = figure(at->second)) return std::make_pair(*v, &runs[i]);
  }
  return std::nullopt;
}

}  // namespace

HistoryRun history_run(const std::string& folder, const Digest* digest,
                       const std::vector<SweepRecord>& sweep) {
  HistoryRun run;
  run.folder = folder;
  if (digest) {
    run.quick = digest->about().quick;
    for (const auto& [label, text] : digest->about().environment) {
      if (label == "assay" || label == "commit") run.commit = commit_in(text);
      if (label == "GPU" || (label == "CPU" && run.machine.empty())) run.machine = text;
    }
    for (const KeyTally& k : digest->keys()) {
      if (!k.ran()) continue;
      HistoryPoint& p = run.keys[k.info.key];
      p.ulp = value(k.ordinary), p.excess = value(k.excess), p.bad = k.bad(), p.seed = k.seed;
    }
  }
  std::map<std::string, std::vector<double>> shares;
  for (const SweepRecord& r : sweep) {
    if (r.role == "ceiling") continue;
    if (run.commit.empty()) run.commit = r.commit;
    if (run.machine.empty()) run.machine = r.gpu;
    const std::optional<double>& s = reads_only(r) ? r.share_of_read : r.share_of_copy;
    if (r.V >= 1000 && r.verified != Status::fail && s && std::isfinite(*s)) shares[r.key].push_back(*s);
  }
  for (auto& [key, all] : shares) run.keys[key].share = quantile(all, 0.5);
  return run;
}

HistoryChanges last_changes(const std::vector<HistoryRun>& runs) {
  HistoryChanges all;
  std::vector<HistoryChange>& out = all.changes;
  if (runs.size() < 2) return all;
  for (const auto& [key, now] : runs.back().keys) {
    const auto compare = [&](const char* name, auto figure, const ChangeLimit& step, bool larger_is_worse,
                             bool (*alike)(const HistoryRun&, const HistoryRun&) = same_extent) {
      const std::optional<double> after = figure(now);
      const auto old = before(runs, key, figure, alike);
      if (!after || !old) return;
      ++all.compared;
      if (*after == old->first) return;
      const double change = *after - old->first;
      const bool same_inputs = old->second->keys.at(key).seed == now.seed;
      const double part = same_inputs ? step.part : step.part_of_other_inputs;
      if (std::isfinite(change) && std::fabs(change) <= std::max(part * std::fabs(old->first), step.least))
        return;
      out.push_back({key, name, old->second->commit, old->first, *after, (change > 0) == larger_is_worse});
    };
    compare(
        "bad records",
        [](const HistoryPoint& p) { return p.bad ? std::optional<double>(*p.bad) : std::nullopt; }, kExact,
        true, any);
    compare(
        "max ULP, ordinary rows", [](const HistoryPoint& p) { return p.ulp; }, kErrorStep, true);
    compare(
        "error/bound without the last rounding", [](const HistoryPoint& p) { return p.excess; }, kErrorStep,
        true);
    compare(
        "share of the copy", [](const HistoryPoint& p) { return p.share; }, kSpeedStep, false, same_machine);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const HistoryChange& a, const HistoryChange& b) { return a.worse > b.worse; });
  return all;
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/data/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "reports/sweep/data/statistics.hpp"

namespace assay {
namespace {

constexpr double kLeastEffect = 1.02;
constexpr double kLevel = 0.05;

bool timed(const SweepRecord& r) { return r.timed() && !r.times_us.empty(); }
bool apart(double factor) { return factor >= kLeastEffect || factor <= 1 / kLeastEffect; }

std::set<std::string> machines_of(const std::vector<SweepRecord>& records) {
  std::set<std::string> names;
  for (const SweepRecord& r : records)
    if (!r.gpu.empty()) names.insert(r.gpu);
  return names;
}
std::string joined(const std::set<std::string>& names) {
  std::string s;
  for (const std::string& n : names) s += (s.empty() ? "" : ", ") + n;
  return s.empty() ? "nothing" : s;
}

/// How much the machine itself changed: the median factor between the copies that both sweeps measured.
std::optional<double> copy_factor(const Paired<SweepRecord>& p) {
  std::vector<double> factors;
  for (const auto& [o, n] : p.both)
    if (n->op == "copy" && n->median_us && o->median_us) factors.push_back(*n->median_us / *o->median_us);
  if (factors.empty()) return std::nullopt;
  return quantile(factors, 0.5);
}

struct Tested {
  SweepChange change;
  double p = 1, least = 1;
};

void list(std::string& s, const char* title, const std::vector<SweepChange>& changes) {
  constexpr std::size_t kMost = 20;
  if (changes.empty()) return;
  s += fmt::format("{}:\n", title);
  for (std::size_t i = 0; i < changes.size() && i < kMost; ++i) {
    const SweepChange& c = changes[i];
    if (!c.reason.empty())
      s += fmt::format("  {}: {}\n", c.what, c.reason);
    else
      s += fmt::format("  {}: {:.4g} -> {:.4g} us, {:+.3g} %, p = {:.2g}\n", c.what, c.before_us, c.after_us,
                       100 * (c.factor() - 1), c.p);
  }
  if (changes.size() > kMost) s += fmt::format("  and {} more\n", changes.size() - kMost);
}

}  // namespace

SweepComparison compare_sweeps(const std::vector<SweepRecord>& before,
                               const std::vector<SweepRecord>& after) {
  SweepComparison c;
  const Paired<SweepRecord> all = paired(before, after);
  if (machines_of(before) != machines_of(after))
    c.notes.push_back(fmt::format("other machines: {} before, {} now", joined(machines_of(before)),
                                  joined(machines_of(after))));
  if (const auto f = copy_factor(all); f && apart(*f))
    c.notes.push_back(fmt::format("the machine's own copies take {:.3f} times as long as before", *f));

  std::vector<Tested> pairs;
  const auto counts = [](const SweepRecord* r) { return timed(*r) && r->role != "ceiling"; };
  for (const SweepRecord* o : all.gone)
    if (counts(o)) c.lost.push_back({identity(*o), 0, 0, 1, "no record", false});
  for (const SweepRecord* n : all.fresh) c.fresh += counts(n);
  for (const auto& [o, n] : all.both) {
    if (!counts(o)) {
      c.fresh += counts(n);
    } else if (!timed(*n)) {
      const std::string why = status_word(*n) + (": " + n->reason);
      c.lost.push_back({identity(*n), 0, 0, 1, why, n->status == Status::fail});
    } else {
      pairs.push_back({{identity(*n), quantile(o->times_us, 0.5), quantile(n->times_us, 0.5), 1, {}},
                       mann_whitney(o->times_us, n->times_us),
                       least_p(o->times_us.size(), n->times_us.size())});
    }
  }

  // With very few samples no result can pass the correction. Such pairs are not tested, and do not make the
  // correction stricter for the others.
  std::vector<Tested*> tested;
  for (Tested& p : pairs)
    if (p.least * static_cast<double>(pairs.size()) <= kLevel) tested.push_back(&p);
  std::vector<double> raw;
  for (const Tested* p : tested) raw.push_back(p->p);
  const std::vector<double> corrected = holm(raw);
  for (std::size_t i = 0; i < tested.size(); ++i) tested[i]->change.p = corrected[i];
  for (const Tested& p : pairs) {
    const bool was_tested = p.least * static_cast<double>(pairs.size()) <= kLevel;
    if (!apart(p.change.factor()))
      ++c.same;
    else if (!was_tested)
      c.undecided.push_back(p.change);
    else if (p.change.p > kLevel)
      ++c.same;
    else
      (p.change.factor() > 1 ? c.slower : c.faster).push_back(p.change);
  }
  const auto larger = [](const SweepChange& a, const SweepChange& b) {
    return std::fabs(std::log(a.factor())) > std::fabs(std::log(b.factor()));
  };
  for (auto* changes : {&c.slower, &c.faster, &c.undecided})
    std::stable_sort(changes->begin(), changes->end(), larger);
  return c;
}

bool comparison_passed(const SweepComparison& c) {
  const bool broken =
      std::any_of(c.lost.begin(), c.lost.end(), [](const SweepChange& l) { return l.failed; });
  return c.slower.empty() && !broken && c.compared() > 0;
}

std::string comparison_text(const SweepComparison& c) {
  std::string s =
      fmt::format("{}: {} slower, {} faster, {} the same of {} configurations compared\n",
                  pass_or_fail(comparison_passed(c)), c.slower.size(), c.faster.size(), c.same, c.compared());
  s += fmt::format("{} with too few samples to tell, {} lost, {} new\n", c.undecided.size(), c.lost.size(),
                   c.fresh);
  for (const std::string& note : c.notes) s += "note: " + note + "\n";
  list(s, "slower", c.slower);
  list(s, "lost", c.lost);
  list(s, "too few samples to tell", c.undecided);
  list(s, "faster", c.faster);
  return s;
}

}  // namespace assay

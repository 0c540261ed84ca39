// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/plan.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "reference/error.hpp"
#include "reference/k_range.hpp"
#include "reports/sweep/rig/rules.hpp"

namespace assay {
namespace {

using Sizes = std::vector<std::int64_t>;

/// The V of the paper's figures, 63 x 2^i.
Sizes paper_sizes() {
  Sizes s;
  for (int i = 0; i <= 14; ++i) s.push_back(std::int64_t{63} << i);
  return s;
}
/// Round numbers, lengths at which published kernels change their algorithm, and vocabularies of models.
const Sizes kModels = {1000, 1025, 12288, 14080, 25000, 32000, 50257, 128256, 151936, 262144};
/// A few of every scale, and some vocabularies.
const Sizes kFew = {63, 252, 1008, 4032, 14080, 16128, 32000, 64512, 128256, 262144, 1032192};
const Sizes kQuick = {252, 1008, 4032, 14080, 32000, 129024};
/// Past this length a kernel with one thread a row takes more than a second for 4000 rows.
constexpr std::int64_t kLongForThread = 33000;

Sizes all_sizes() {
  Sizes s = paper_sizes();
  for (int i = 5; i <= 20; ++i) s.push_back(std::int64_t{1} << i);
  s.insert(s.end(), kModels.begin(), kModels.end());
  s.insert(s.end(), std::begin(kLadder), std::end(kLadder));
  std::sort(s.begin(), s.end());
  s.erase(std::unique(s.begin(), s.end()), s.end());
  return s;
}

bool any_of(std::span<const std::int64_t> s, std::int64_t x) { return std::ranges::find(s, x) != s.end(); }
bool any_of(std::initializer_list<std::int64_t> s, std::int64_t x) {
  return std::ranges::find(s, x) != s.end();
}

bool is_or_is_peer(const Subject& s, Pace pace) { return s.role == "peer" || s.variant.pace == pace; }
/// The kernels that are to run at the speed of a copy, and those with which they are compared.
bool on_ladder(const Subject& s) { return is_or_is_peer(s, Pace::copy); }
/// The shapes of the table of goals (sweep_page/goals.cpp) but for top-k, and its kernels.
bool shape_of_goals(std::int64_t rows, std::int64_t V) {
  return rows == 4000 ? any_of(kLadder, V) : (rows == 10 || rows == 1) && any_of(kLadderFewRows, V);
}
bool of_goals(const Subject& s, std::int64_t rows, std::int64_t V, std::int64_t k) {
  const std::string& name = s.variant.variant;
  if (selects(s.variant.op))
    return name == "onepass_topk_fast" && !on_host(s.variant.backend) && shape_of_topk_goals(rows, V, k);
  return !on_host(s.variant.backend) && shape_of_goals(rows, V) &&
         (name == "onepass_fast" || (name == "onepass_lse_fast" && rows == 4000));
}

/// One point of a set's axes.
struct Point {
  Backend backend;
  Dtype dtype;
  bool fused;  // top-k
  bool ladder, goals;
  std::int64_t rows, V, k;
};

bool in_set(SweepSet set, const Point& p) {
  if (on_host(p.backend)) {
    static const Sizes sizes = {63, 1000, 4032, 32000};
    return p.rows == 10 && any_of(sizes, p.V) && (!p.fused || p.k == 5);
  }
  if (set == SweepSet::full || p.goals) return true;
  const bool batch = p.rows == 4000 || p.rows == 10;
  if (p.ladder && !p.fused && shape_of_goals(p.rows, p.V))
    return set == SweepSet::published || p.dtype != Dtype::bf16;
  if (p.ladder && p.fused && set == SweepSet::published && shape_of_topk_goals(p.rows, p.V, p.k)) return true;
  if (set == SweepSet::quick) {
    if (p.dtype == Dtype::bf16) return false;
    if (p.fused) return p.k == 5 && batch && any_of({1008, 4032, 25000, 129024}, p.V);
    return batch ? any_of(kQuick, p.V) : p.V == 4032 || p.V == 32000;
  }
  const bool few = any_of(kFew, p.V);
  if (!p.fused) return p.dtype == Dtype::bf16 ? batch && few : batch || few;
  const bool paper = few || p.V == 25000 || p.V == 129024;
  if (p.dtype == Dtype::bf16) return p.k == 5 && p.rows == 4000 && paper;
  if (p.k == 5) return batch ? paper : any_of({4032, 32000, 128256}, p.V);
  return batch && any_of({4032, 25000, 128256}, p.V);
}

/// Smaller values come first.
int importance(const SweepJob& j) {
  const Variant& v = j.subject->variant;
  const bool fused = selects(v.op),
             first = is_or_is_peer(*j.subject, Pace::reference) || on_ladder(*j.subject);
  const int rows = j.rows == 4000 ? 0 : j.rows == 10 ? 1 : 2;
  // The table of goals, then what it is compared with at the same shapes.
  if (of_goals(*j.subject, j.rows, j.V, j.pick.k)) return (fused ? -15 : -20) + rows;
  if (on_ladder(*j.subject) && !on_host(v.backend) &&
      (fused ? shape_of_topk_goals(j.rows, j.V, j.pick.k) : shape_of_goals(j.rows, j.V)))
    return -10 + rows;
  int rank = 10 * rows;
  if (v.dtype == Dtype::bf16) rank += 5;
  if (fused && j.pick.k != 5)
    rank += 4;
  else if (!first)
    rank += fused ? 1 : 2;
  if (v.pace == Pace::thread && j.V > kLongForThread) rank += 50;
  if (on_host(v.backend)) rank += 100;
  return rank;
}

void require_range(const char* option, const std::vector<std::int64_t>& values, std::int64_t least,
                   std::int64_t most) {
  for (const std::int64_t x : values)
    if (x < least || x > most)
      throw InputError(fmt::format("{} {}: must be {} to {}", option, x, least, most));
}

std::vector<const Subject*> subjects_of(const SweepSelection& s, std::vector<std::string>* missing) {
  std::set<std::string> dtypes;
  for (const std::string& d : s.dtypes) {
    const auto t = parse_dtype(d);
    if (!t || !can_judge(*t)) throw InputError("--dtype " + d + ": must be f16, bf16 or f32");
    dtypes.insert(d);
  }
  std::vector<const Subject*> found;
  const auto take = [&](const Subject& one) {
    if (!dtypes.empty() && !dtypes.contains(name(one.variant.dtype))) return;
    if (std::find(found.begin(), found.end(), &one) == found.end()) found.push_back(&one);
  };
  for (const Subject* one : s.others) take(*one);
  if (s.keys.empty() && s.others.empty())
    for (const Subject& one : sweep_subjects()) {
      const Backend b = one.variant.backend;
      if (b != Backend::cuda && !(s.host && b == Backend::host)) continue;
      if (one.missing.empty())
        take(one);
      else if (missing)
        missing->push_back(one.variant.key() + ": " + one.missing);
    }
  for (const std::string& pattern : s.keys) {
    bool any = false;
    for (const Subject& one : sweep_subjects())
      if (fnmatch(pattern.c_str(), one.variant.key().c_str(), 0) == 0) {
        take(one);
        any = true;
      }
    if (const Subject* planted = any ? nullptr : find_subject(pattern)) {
      take(*planted);
      any = true;
    }
    if (!any) throw InputError("--key " + pattern + ": no such key; assay list names them all");
  }
  return found;
}

}  // namespace

std::vector<SweepJob> make_sweep_plan(const SweepSelection& s, std::vector<std::string>* missing) {
  require_range("--V", s.sizes, 1, std::int64_t{1} << 26);
  require_range("--rows", s.rows, 1, std::int64_t{1} << 24);
  const Sizes sizes = s.sizes.empty() ? all_sizes() : s.sizes;
  const Sizes rows = s.rows.empty() ? Sizes{4000, 10, 1, 32, 32768} : s.rows;
  std::vector<int> ks = {5, 1, 10, 15, 30, 64, 128, 256};
  if (!s.k.empty()) ks.assign(s.k.begin(), s.k.end());
  std::vector<SweepJob> jobs;
  const std::vector<const Subject*> subjects = subjects_of(s, missing);
  const bool any_selects = std::any_of(subjects.begin(), subjects.end(),
                                       [](const Subject* one) { return selects(one->variant.op); });
  for (const Subject* one : subjects) {
    const Op op = one->variant.op;
    const bool fused = selects(op);
    std::vector<Pick> picks_of_one;
    for (const std::int64_t k : s.k) {
      const AskedPick asked{.k = static_cast<int>(std::min<std::int64_t>(k, INT32_MAX))};
      any_selects || !s.thresholds.empty() ? asked.of_one(op, {}) : asked.of(op, {});
    }
    if (fused) picks_of_one.assign(ks.begin(), ks.end());
    if (keeps_a_set(op))
      for (const double t : s.thresholds) picks_of_one.push_back(of_threshold(t));
    if (picks_of_one.empty()) picks_of_one = {usual_pick(op)};
    for (const std::int64_t V : sizes)
      for (const std::int64_t r : rows)
        for (const Pick& pick : picks_of_one) {
          const int k = pick.k;
          if (fused && s.k.empty() && (k > one->variant.max_k || k > V)) continue;
          // A filter may name a value that the set does not have. So an axis with a filter is not compared
          // with the set: a typical value takes its place.
          const bool on_host_here = on_host(one->variant.backend);
          const Point p{
              one->variant.backend,
              s.dtypes.empty() && s.keys.empty() && s.others.empty() ? one->variant.dtype : Dtype::f32,
              fused,
              on_ladder(*one),
              s.rows.empty() && s.sizes.empty() && (!fused || s.k.empty()) && of_goals(*one, r, V, k),
              s.rows.empty() ? r
              : on_host_here ? 10
                             : 4000,
              s.sizes.empty() ? V : 4032,
              s.k.empty() ? k : 5};
          if (!in_set(s.set, p)) continue;
          jobs.push_back({one, r, V, pick});
        }
  }
  if (jobs.empty() && s.others.empty())
    throw InputError("nothing to sweep: no key has a configuration of this selection");
  std::stable_sort(jobs.begin(), jobs.end(), [](const SweepJob& a, const SweepJob& b) {
    const auto rank = [](const SweepJob& j) {
      const Dtype t = j.subject->variant.dtype;
      const int dtype = t == Dtype::f32 ? 0 : t == Dtype::f16 ? 1 : 2;
      return std::tuple(importance(j), dtype, j.V, j.pick, j.rows);
    };
    return rank(a) < rank(b);
  });
  return jobs;
}

}  // namespace assay

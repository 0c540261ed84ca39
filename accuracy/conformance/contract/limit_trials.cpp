// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/contract/limit_trials.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/case/case.hpp"
#include "accuracy/case/guarded.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/conformance/contract/limit_search.hpp"
#include "accuracy/conformance/groups/causal_plan.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/conformance/says_no.hpp"
#include "accuracy/verdict/checker.hpp"

namespace assay::conformance {
namespace {

/// The most elements of a launch of the search: it tests sizes, not endurance.
constexpr std::int64_t kMostElements = std::int64_t{1} << 24;

Problem problem_at(const Variant& v, const CaseShape& s) {
  return problem_of(v, v.op, s.rows, s.V, s.pick(), s.V);
}

}  // namespace

Trials::Trials(const Variant& variant, const std::vector<Record>& records) : variant_(variant) {
  for (const Record& r : records) {
    if ((r.group != "shapes" && r.group != "rows") || r.V <= 0 || r.rows <= 0) continue;
    const bool no = fails(r) && says_no(r);
    if (r.status != Status::pass && !fails(r)) continue;
    // A launch that was refused for its address, or for empty slots, says nothing about the number of rows or
    // logits.
    const int k = selects(variant.op) ? r.k : 0;
    if (no && (cause_of(r) == FaultKind::misaligned || k > r.V)) continue;
    Known& known = known_[{r.rows, r.V, k}];
    // A size that was both accepted and refused was not refused for its size.
    if (known.answer == Answer::taken) continue;
    known = no ? Known{Answer::refused, what_it_said(r)} : Known{Answer::taken};
  }
}

int Trials::usual_k(std::int64_t V) const {
  return selects(variant_.op) ? allowed_k(variant_, std::min(5, variant_.max_k), V) : 0;
}

Trials::Answer Trials::at(const CaseShape& asked) {
  const CaseShape size = launched_as(asked);
  if (const auto found = known_.find(size); found != known_.end()) return found->second.answer;
  return (known_[size] = launched(size)).answer;
}

CaseShape Trials::launched_as(CaseShape size) const {
  size.rows = whole_squares(variant_, size.V, size.rows);
  return size;
}

Trials::Known Trials::launched(const CaseShape& size) const {
  if (size.rows <= 0 || size.V <= 0 || size.rows > kMostElements / size.V || size.k > variant_.max_k)
    return {};
  Problem p = problem_at(variant_, size);
  const Layout layout = fitted(plain_layout(), variant_, p);
  p.in_pitch = p.V + layout.in_gap;
  p.out_pitch = p.out_columns() + layout.out_gap;
  if (!beyond_limits(variant_, p, 0).empty()) return {};
  const Tensor logits = make_rows("constant", variant_.dtype, size.V, size.rows, 1);
  GuardedLaunch launch(variant_, p, logits, layout);
  const LaunchOutcome outcome = launch.run();
  if (outcome.ended == Ended::hung || outcome.ended == Ended::lost) return {};
  if (outcome.ok() || !says_no(outcome.kind)) return {Answer::taken};
  if (outcome.kind == FaultKind::misaligned || size.k > size.V) return {};
  return {Answer::refused, what_it_said(outcome.kind, outcome.fault)};
}

std::optional<CaseShape> Trials::known_good() {
  const auto rank = [](const CaseShape& s) {
    // All multiples of 64 count as equally round.
    const int twos = std::min(std::countr_zero(static_cast<std::uint64_t>(s.V)), 6);
    return std::tuple(-twos, s.V, s.rows, s.k);
  };
  std::optional<CaseShape> best;
  for (const auto& [size, known] : known_)
    if (known.answer == Answer::taken && (!best || rank(size) < rank(*best))) best = size;
  if (best) return best;
  // Multiples of many numbers, and the small sizes that a kernel without tails accepts.
  for (const std::int64_t rows : {1, 8, 64, 256, 960, 128})
    for (const std::int64_t V : {64, 32, 256, 1024, 1, 8, 128, 512, 4, 2, 96, 768, 960, 4096}) {
      std::vector<int> ks = {usual_k(V)};
      if (selects(variant_.op)) ks.insert(ks.end(), {1, 2, 4, 8});
      for (const int k : ks)
        if (const CaseShape s{rows, V, k}; takes(s)) return s;
    }
  return {};
}

}  // namespace assay::conformance

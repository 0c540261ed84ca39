// SPDX-License-Identifier: Apache-2.0
// Judges min_p and top_p: which elements are kept, then the kept ones as a row of their own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "accuracy/judge/kept_set.hpp"
#include "accuracy/judge/row_judge.hpp"

namespace assay {
namespace {

/// The kept elements as the outputs show them; what elements that may be kept, but round to 0, may add to
/// their sum, relative to it.
struct Seen {
  std::vector<bool> kept;
  double lost = 0;
};

class KeptJudge {
 public:
  KeptJudge(const RowContext& c, Op op, double threshold, const RowOutput& got)
      : c_(c), got_(got), q_{op, threshold, c.claim, c.terms, *c.row.truth, *c.shift, *c.bounds} {
    not_zero_.resize(got.values.size());
    for (std::size_t j = 0; j < not_zero_.size(); ++j) not_zero_[j] = !(got.values[j] == 0);  // NaN is not 0
    rank_ = by_rank(q_, not_zero_);
    members_ = members(q_, rank_);
  }

  std::int64_t open() const { return std::count(members_.begin(), members_.end(), Member::open); }

  /// True if the set is right. Then `seen` is the set.
  bool judge(Seen& seen) {
    bool right = true;
    double most = 0;  // the divisor, if all open elements are kept: the quotients are smallest then
    for (std::size_t j = 0; j < members_.size(); ++j) {
      if (members_[j] != Member::dropped) most += q_.row.hi[j];
      if (members_[j] == Member::dropped)
        right &= require(!not_zero_[j], j, "is outside the set and must be 0");
    }
    for (std::size_t j = 0; j < members_.size(); ++j)
      if (members_[j] == Member::kept)
        right &= require(not_zero_[j] || may_vanish(j, 1), j, "is in the set and must not be 0");
    seen.kept.assign(members_.size(), false);
    bool ended = false, any = false;
    double sum = 0, hidden = 0;  // at least, of what the outputs show; at most, of what may be kept beside it
    const bool in_order = q_.op == Op::top_p && q_.row.slack.empty();
    for (const std::int32_t column : rank_) {
      const auto j = static_cast<std::size_t>(column);
      const bool open = members_[j] == Member::open;
      seen.kept[j] = members_[j] == Member::kept || (open && not_zero_[j]);
      any = any || seen.kept[j];
      if (seen.kept[j]) sum += q_.row.lo[j];
      if (!open) continue;
      if (not_zero_[j]) {
        // The set of top_p has no gaps.
        right &= require(!in_order || !ended, j, "is kept, one that ranks before it is not");
      } else if (may_vanish(j, most)) {
        hidden += q_.row.hi[j];
      } else {
        ended = true;
      }
    }
    right &= judge_stored_ties();
    if (sum > 0) seen.lost = hidden / sum;
    return require(any, static_cast<std::size_t>(q_.row.argmax), "is left out like all others") && right;
  }

 private:
  /// top_p takes equal elements in the order of the tie rule. Of logits that the kernel computes itself,
  /// those are equal whose stored ones are.
  bool judge_stored_ties() {
    const RowTruth& t = q_.row;
    if (q_.op != Op::top_p || t.stored.empty() || q_.claim.ties == Ties::unspecified) return true;
    bool right = true;
    std::set<double> ended;
    for (std::size_t n = 0; n < t.stored.size(); ++n) {
      const std::size_t j = q_.claim.ties == Ties::larger_index ? t.stored.size() - 1 - n : n;
      const double x = t.stored[j];
      if (std::isnan(x) || std::fabs(x) < q_.terms.flush || std::isinf(t.d[j])) continue;
      if (!not_zero_[j])
        ended.insert(x);
      else
        right &= require(!ended.contains(x), j, "is kept, an equal one that ranks before it is not");
    }
    return right;
  }
  bool require(bool holds, std::size_t j, const char* what) {
    if (!c_.tally.require(Check::kept, holds) && c_.tally.first(Check::kept))
      c_.tally.at(Check::kept).detail =
          fmt::format("row {}, column {} (logit {:g}, probability {:g} of the row) {}, got {:g}", c_.row.row,
                      j, q_.row.x[j], q_.row.lo[j], what, got_.values[j]);
    return holds;
  }
  /// True if a right output of an element that is kept may be 0. `sum`: at most, that of the set.
  bool may_vanish(std::size_t j, double sum) const {
    const double least = q_.row.lo[j] * std::exp(-q_.bounds.A[j]);
    return least <= (q_.bounds.w + 0.5 * min_subnormal(c_.out)) * std::min(1.0, sum);
  }

  const RowContext& c_;
  const RowOutput& got_;
  const SetQuestion q_;
  std::vector<bool> not_zero_;
  std::vector<std::int32_t> rank_;
  std::vector<Member> members_;
};

}  // namespace

void judge_kept(const RowContext& c, Op op, double threshold, const RowOutput& got) {
  if (!c.bounds) {
    judge_special(c, got);
    return;
  }
  KeptJudge judge(c, op, threshold, got);
  c.statistics.open += judge.open();
  Seen seen;
  if (!judge.judge(seen)) return;  // the values of a wrong set have no meaning
  const RowTruth truth = kept_truth(*c.row.truth, seen.kept);
  const RoundedShift shift = shift_of(truth, c.terms);
  RowBounds bounds = row_bounds(c.terms, truth, shift);
  // The divisor may be larger by what does not show.
  if (seen.lost > 0)
    for (double& A : bounds.A) A += std::log1p(seen.lost);
  bounds.row_sum += seen.lost;
  const RowCase row{&truth, c.row.row};
  judge_probabilities(
      {c.claim, c.terms, c.rounded, c.out, row, &bounds, &shift, c.tally, c.statistics, c.observer}, got);
}

}  // namespace assay

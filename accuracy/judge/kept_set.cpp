// SPDX-License-Identifier: Apache-2.0
#include "accuracy/judge/kept_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <vector>

#include "accuracy/judge/row_judge.hpp"

namespace assay {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();
/// What this file's own additions in long double may be off, relative, for a sum of n terms, with a few
/// operations in double.
double own_rounding(std::size_t n) {
  return 0x1p-51 + static_cast<double>(n) * std::numeric_limits<long double>::epsilon();
}

std::vector<Member> members_of_min_p(const SetQuestion& q) {
  const Terms& t = q.terms;
  std::vector<Member> all(q.row.x.size(), Member::dropped);
  const double ln = std::log(q.threshold);
  // The comparison may be of exps, of probabilities, or of x - m with ln of the threshold. Each has no more
  // than these errors beside the exp's own. The absolute ones are of subnormal results.
  const double absolute = 4 * (q.bounds.eta_s + t.w_quotient) * q.row.s.hi / q.threshold;
  const double common =
      t.eps(q.bounds.anchor) + 2 * lam(t.D_own) + 2 * lam(t.u) + t.log_error * std::fabs(ln) + lam(absolute);
  // What is equal to the maximum has its exp, whatever that is; but not if exps keep older maxima, or if the
  // kernel computes its logits itself.
  const bool equal_exps = q.row.slack.empty() && (!t.kept || t.unit_maximum());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::isinf(q.row.d[i])) continue;
    const double off = exp_error(t, q.row, q.shift, i) + common + 0x1p-50 * (1 + std::fabs(ln));
    const double beyond = q.row.d[i] - ln;
    const bool kept = beyond > off || (equal_exps && q.row.d[i] == 0);
    all[i] = kept ? Member::kept : beyond < -off ? Member::dropped : Member::open;
  }
  return all;
}

/// The sums over the first r ranks, for every r: at most and at least what a kernel's exps add up to,
/// relative to the row's sum.
struct PartialSums {
  std::vector<long double> most{0}, least{0};

  PartialSums(const SetQuestion& q, const std::vector<std::int32_t>& rank) {
    for (const std::int32_t column : rank) {
      const auto i = static_cast<std::size_t>(column);
      const double off = exp_error(q.terms, q.row, q.shift, i);
      most.push_back(most.back() + static_cast<long double>(q.row.hi[i] * std::exp(off)));
      least.push_back(least.back() + static_cast<long double>(q.row.lo[i] * std::exp(-off)));
    }
  }
};

std::vector<Member> members_of_top_p(const SetQuestion& q, const std::vector<std::int32_t>& rank) {
  const Terms& t = q.terms;
  std::vector<Member> all(q.row.x.size(), Member::dropped);
  const PartialSums sums(q, rank);
  // The errors of the whole sum, and of the quotients or of the product with the sum.
  const double common = q.bounds.b + lam(t.D) + 2 * lam(t.u) + own_rounding(rank.size());
  const double up = std::exp(common), down = std::exp(-common);
  // The errors of the additions of a part. The part may be the sum up to the element, less the element.
  const double added = std::expm1(t.h * lam(t.u));
  // Each exp may be off by its subnormal part, too, or each quotient by its own.
  const double vanished = (2 * q.bounds.eta_s + t.w_quotient + min_subnormal(t.arithmetic)) * up;
  // Logits that a kernel computes itself may change places if they are closer than this.
  const double apart =
      q.row.slack.empty() ? 0 : 2.02 * *std::max_element(q.row.slack.begin(), q.row.slack.end());
  const auto logit = [&](std::size_t r) { return q.row.x[static_cast<std::size_t>(rank[r])]; };
  bool ended = false;
  std::size_t certain = 0, possible = 0;  // ranks that must come before, and those that may, with r itself
  for (std::size_t r = 0; r < rank.size(); ++r) {
    const auto i = static_cast<std::size_t>(rank[r]);
    possible = std::max(possible, r + 1);
    if (apart > 0) {
      while (logit(certain) > logit(r) + apart) ++certain;
      while (possible < rank.size() && logit(possible) >= logit(r) - apart) ++possible;
    } else {
      certain = r;
    }
    const auto upper =
        static_cast<double>(sums.most[r] + (sums.most[possible] - sums.most[r + 1]) + own_rounding(possible));
    const auto lower = static_cast<double>(sums.least[certain]);
    const double additions = added * static_cast<double>(sums.most[possible]);
    const double slack = static_cast<double>(possible) * vanished;
    // Something is kept in every row.
    if (possible == 1 || (upper + additions) * up + slack < q.threshold)
      all[i] = Member::kept;
    else if (ended || (lower - additions) * down - slack >= q.threshold)
      ended = true;
    else
      all[i] = Member::open;
  }
  return all;
}

}  // namespace

double exp_error(const Terms& t, const RowTruth& row, const RoundedShift& shift, std::size_t i) {
  if (std::isinf(row.d[i]) || std::isinf(shift.f[i])) return 0;
  // A kept exp was rescaled at most twice.
  const double kept = t.kept ? 2 * (t.exp_constant + lam(t.u)) + std::fabs(row.d[i]) * t.kept_slope() : 0;
  return t.eps(shift.f[i]) + std::fabs(shift.delta[i]) + kept;
}

std::vector<std::int32_t> by_rank(const SetQuestion& q, const std::vector<bool>& not_zero) {
  std::vector<std::int32_t> rank;
  for (const std::int32_t i : q.row.order)
    if (!std::isinf(q.row.d[static_cast<std::size_t>(i)])) rank.push_back(i);
  const auto logit = [&](std::int32_t i) { return q.row.x[static_cast<std::size_t>(i)]; };
  // Subnormal logits may be flushed, and then are equal.
  const auto seen = [&](std::int32_t i) { return std::fabs(logit(i)) < q.terms.flush ? 0 : logit(i); };
  for (auto first = rank.begin(); first != rank.end();) {
    const double x = seen(*first);
    const auto last = std::find_if(first, rank.end(), [&](std::int32_t i) { return seen(i) != x; });
    const bool any_order = q.claim.ties == Ties::unspecified || logit(*first) != logit(*std::prev(last));
    if (any_order)
      std::stable_partition(first, last,
                            [&](std::int32_t i) { return not_zero[static_cast<std::size_t>(i)]; });
    else if (q.claim.ties == Ties::larger_index)
      std::reverse(first, last);
    first = last;
  }
  return rank;
}

std::vector<Member> members(const SetQuestion& q, const std::vector<std::int32_t>& rank) {
  return q.op == Op::min_p ? members_of_min_p(q) : members_of_top_p(q, rank);
}

RowTruth kept_truth(const RowTruth& row, const std::vector<bool>& kept) {
  RowTruth t = row;
  long double from = 0, to = 0;
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i]) from += static_cast<long double>(row.lo[i]), to += static_cast<long double>(row.hi[i]);
  const double rounding = own_rounding(kept.size());
  const double lo = static_cast<double>(from) * (1 - rounding);
  const double hi = static_cast<double>(to) * (1 + rounding);
  t.rounded.clear();
  t.finite = 0;
  t.weighted_distance = 0;
  std::vector<std::int32_t> others;
  std::erase_if(t.order, [&](std::int32_t i) {
    if (kept[static_cast<std::size_t>(i)]) return false;
    others.push_back(i);
    return true;
  });
  std::sort(others.begin(), others.end());  // equal logits, all -inf: by index
  t.order.insert(t.order.end(), others.begin(), others.end());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) {
      t.x[i] = t.d[i] = kNothing;
      t.lo[i] = t.hi[i] = 0;
      continue;
    }
    ++t.finite;
    t.lo[i] = row.lo[i] / hi * (1 - 0x1p-51);
    t.hi[i] = std::min(1.0, row.hi[i] / lo * (1 + 0x1p-51));
    t.weighted_distance += 0.5 * (t.lo[i] + t.hi[i]) * std::fabs(t.d[i]);
  }
  // The first of the row's maxima need not be in the set. If the kernel computes its logits itself, perhaps
  // none of the maxima is.
  t.argmax = t.order.front();
  const auto top = static_cast<std::size_t>(t.argmax);
  if (const double off = t.d[top]; off != 0) {
    t.m = t.x[top];
    for (double& d : t.d) d -= off;
  }
  // An element alone: exactly 1.
  const bool alone = t.finite == 1;
  if (alone) t.lo[top] = t.hi[top] = 1;
  const double rounded = alone ? 0 : 0x1p-52;
  t.s = {std::max(1.0, (1 - rounded) / t.hi[top]), std::max(1.0, (1 + rounded) / t.lo[top])};
  t.lse = {t.m + std::log(t.s.lo) * (1 - 0x1p-50) - 0x1p-50 * std::fabs(t.m),
           t.m + std::log(t.s.hi) * (1 + 0x1p-50) + 0x1p-50 * std::fabs(t.m)};
  t.kind = t.finite == static_cast<std::int64_t>(t.x.size()) ? RowKind::finite : RowKind::masked;
  return t;
}

// Judges min_p and top_p: which elements are kept, then the kept ones as a row of their own.

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
                      c_.row.column(j), q_.row.x[j], q_.row.lo[j], what, got_.values[j]);
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
  const RowCase row{&truth, c.row.row, c.row.part};
  judge_probabilities(
      {c.claim, c.terms, c.rounded, c.out, row, &bounds, &shift, c.tally, c.statistics, c.profile}, got);
}

}  // namespace assay

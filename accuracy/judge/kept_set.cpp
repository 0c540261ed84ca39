// SPDX-License-Identifier: Apache-2.0
#include "accuracy/judge/kept_set.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

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

}  // namespace assay

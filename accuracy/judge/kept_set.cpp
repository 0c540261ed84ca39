#include "accuracy/judge/kept_set.hpp"

#include <algorithm>
#include <cmath>
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
  // than these errors beside the exp's own.
  const double common =
      t.eps(q.bounds.anchor) + 2 * lam(t.D_own) + 2 * lam(t.u) + t.log_error * std::fabs(ln);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::isinf(q.row.d[i])) continue;
    const double off = exp_error(t, q.row, q.shift, i) + common + 0x1p-50 * (1 + std::fabs(ln));
    const double beyond = q.row.d[i] - ln;
    // What is equal to the maximum has its exp, whatever that is.
    all[i] = q.row.d[i] == 0 || beyond > off ? Member::kept : beyond < -off ? Member::dropped : Member::open;
  }
  return all;
}

std::vector<Member> members_of_top_p(const SetQuestion& q, const std::vector<std::int32_t>& rank) {
  const Terms& t = q.terms;
  std::vector<Member> all(q.row.x.size(), Member::dropped);
  // The errors of the whole sum, of the additions of a part, of the quotient or the product with the sum.
  const double common = q.bounds.b + t.h * lam(t.u) + lam(t.D) + lam(t.u) + own_rounding(rank.size());
  const double up = std::exp(common), down = std::exp(-common);
  // Each exp may be off by its subnormal part, too.
  const double vanished = (2 * q.bounds.eta_s + min_subnormal(t.arithmetic)) * up;
  long double most = 0, least = 0;  // of the sum over the ranks before
  bool ended = false;
  for (std::size_t r = 0; r < rank.size(); ++r) {
    const auto i = static_cast<std::size_t>(rank[r]);
    const double slack = static_cast<double>(r) * vanished;
    if (static_cast<double>(most) * up + slack < q.threshold)
      all[i] = Member::kept;
    else if (ended || static_cast<double>(least) * down - slack >= q.threshold)
      ended = true;
    else
      all[i] = Member::open;
    const double off = exp_error(t, q.row, q.shift, i);
    most += static_cast<long double>(q.row.hi[i] * std::exp(off));
    least += static_cast<long double>(q.row.lo[i] * std::exp(-off));
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
  if (q.claim.ties == Ties::smaller_index) return rank;
  for (auto first = rank.begin(); first != rank.end();) {
    const double x = q.row.x[static_cast<std::size_t>(*first)];
    const auto last = std::find_if(first, rank.end(),
                                   [&](std::int32_t i) { return q.row.x[static_cast<std::size_t>(i)] != x; });
    if (q.claim.ties == Ties::larger_index)
      std::reverse(first, last);
    else
      std::stable_partition(first, last,
                            [&](std::int32_t i) { return not_zero[static_cast<std::size_t>(i)]; });
    first = last;
  }
  return rank;
}

std::vector<Member> members(const SetQuestion& q, const std::vector<std::int32_t>& rank) {
  return q.op == Op::min_p ? members_of_min_p(q) : members_of_top_p(q, rank);
}

RowTruth kept_truth(const RowTruth& row, const std::vector<bool>& kept, double lost) {
  RowTruth t = row;
  long double from = 0, to = 0;
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i]) from += static_cast<long double>(row.lo[i]), to += static_cast<long double>(row.hi[i]);
  const double rounding = own_rounding(kept.size());
  const double lo = static_cast<double>(from) * (1 - rounding);
  const double hi = static_cast<double>(to) * (1 + rounding) * (1 + lost);
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
  // The maximum alone: exactly 1.
  if (t.finite == 1 && lost == 0) {
    t.lo[static_cast<std::size_t>(t.argmax)] = t.hi[static_cast<std::size_t>(t.argmax)] = 1;
    t.s = {1, 1};
  } else {
    t.s = {std::max(1.0, row.s.lo * lo * (1 - 0x1p-51)), row.s.hi * hi * (1 + 0x1p-51)};
  }
  t.lse = {t.m + std::log(t.s.lo) * (1 - 0x1p-50) - 0x1p-50 * std::fabs(t.m),
           t.m + std::log(t.s.hi) * (1 + 0x1p-50) + 0x1p-50 * std::fabs(t.m)};
  t.kind = t.finite == static_cast<std::int64_t>(t.x.size()) ? RowKind::finite : RowKind::masked;
  return t;
}

}  // namespace assay

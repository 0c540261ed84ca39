// SPDX-License-Identifier: Apache-2.0
// The checks on a row of probabilities. Symbols as in bounds.hpp.
#include "accuracy/judge/row_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "accuracy/ulp.hpp"

namespace assay {

void Resolution::row(double limit) {
  // Only infinite bounds lead to NaN.
  const auto number = [](double x) { return std::isnan(x) ? kInf : x; };
  if (mass_ > 0 || sum_ < kInf) {
    const double element = mass_ > 0 ? number(room_ / mass_) : sum_;
    const double most = limit_ > 0 ? limit_ / mass_ : limit;
    element_ = std::max(element_, element);
    common_ = std::max(common_, number(sum_));
    over_limit_ = std::max(over_limit_, number(element / most));
    ++rows_;
  }
  mass_ = room_ = limit_ = 0;
  sum_ = kInf;
}

double resolution_limit(Dtype out) {
  return out == Dtype::f16 || out == Dtype::bf16 ? 2 * unit_roundoff(out) : 1e-3;
}

namespace {

std::string at(const RowContext& c, std::int64_t j) {
  return fmt::format("row {}, column {}", c.row.row, c.row.column(j));
}

/// p e^A and p e^-A for an enclosed p. For small A they come from a series (alternating, so its error is
/// known). For large A the exponents are added first, because on far rows p is 0 and e^A infinite.
struct Band {
  double lower_lo, lower_hi, upper_lo, upper_hi;
};
Band band(const RowTruth& t, std::int64_t j, double A) {
  const auto i = static_cast<std::size_t>(j);
  const double lo = t.lo[i], hi = t.hi[i];
  if (A < 0x1p-6) {
    const double grow = A + A * A * (0.5 + A / 6 * (1 + A));
    const double shrink = A - A * A * (0.5 - A / 6);
    return {lo * (1 - shrink), hi * (1 - shrink), lo * (1 + grow), hi * (1 + grow)};
  }
  const double up = std::exp(t.d[i] + A), down = std::exp(t.d[i] - A);
  return {down / t.s.hi, down / t.s.lo, up / t.s.hi, up / t.s.lo};
}

/// The output as the check sees it. If it is rounded to a narrower format at the end: the number nearest to p
/// among all that round to it. Rounding keeps the order. So a right kernel's value before that rounding is
/// within its bound exactly if this number is.
double before_rounding(const RowContext& c, double g, double p) {
  if (!c.terms.narrows || !(g >= 0)) return g;
  const RoundsTo all = rounds_to(c.out, g);
  return std::clamp(p, all.lo, all.hi);
}

}  // namespace

double certainly_refused(const Terms& terms, Dtype out, double size, double room) {
  const double most = size + room, least = std::max(0.0, size - room);
  if (!(most < kInf)) return kInf;
  if (!terms.narrows) return room;
  return std::max(rounds_to(out, round_to(out, most)).hi - size,
                  size - rounds_to(out, round_to(out, least)).lo);
}

bool judge_element(const RowContext& c, std::int64_t j, double g, std::uint64_t bits) {
  const RowTruth& t = *c.row.truth;
  const auto i = static_cast<std::size_t>(j);
  Tally& tally = c.tally;
  ErrorStatistics& s = c.statistics;

  if (std::isinf(t.d[i])) {  // x = -inf: exactly 0, no tolerance
    const bool ok = tally.require(Check::special, g == 0);
    if (!ok && tally.first(Check::special))
      tally.at(Check::special).detail =
          fmt::format("{}: logit -inf must give exactly 0, got {:g}", at(c, j), g);
    return ok;
  }

  const RowBounds& b = *c.bounds;
  const double A = b.A[i];
  const double w = c.terms.narrows ? b.w_quotient : b.w;
  const Band limit = band(t, j, c.terms.narrows ? A - b.rounding : A);
  const double p = 0.5 * (t.lo[i] + t.hi[i]);
  const double seen = before_rounding(c, g, p);
  bool ok;
  double ratio;
  if (!(seen < p)) {  // also NaN
    const double room = limit.upper_hi - p + w;
    ok = tally.judge(Check::element, seen - t.hi[i], seen - t.lo[i], limit.upper_lo - t.lo[i] + w,
                     limit.upper_hi - t.lo[i] + w);
    ratio = room > 0 ? (seen - p) / room : (seen == p ? 0 : kInf);
  } else {
    const double room = p - limit.lower_lo + w;
    ok = tally.judge(Check::element, t.lo[i] - seen, t.hi[i] - seen, t.hi[i] - limit.lower_hi + w,
                     t.hi[i] - limit.lower_lo + w);
    ratio = room > 0 ? (p - seen) / room : kInf;
  }
  if (p > c.terms.w_out)
    s.resolution.element(p, limit.upper_hi - p + w,
                         certainly_refused(c.terms, c.out, p, limit.upper_hi - p + w) / p);

  const Enclosure exact{t.lo[i], t.hi[i]};
  const Enclosure errors = ulp_error(c.out, g, exact);
  const double error = errors.hi;
  // If the truth was rounded to another format, a rounding that the enclosure leaves open does not count as
  // correct.
  const bool rounded = c.rounded == c.out && !t.rounded.empty()
                           ? bits == t.rounded[i]
                           : encode(c.out, exact.lo) == bits && encode(c.out, exact.hi) == bits;
  s.take(errors.lo, errors.hi, rounded, !(A < 0.6931471805599453) || !(b.w < p));
  s.take_worst(ok, {c.row.row, c.row.column(j), t.x[i], t.d[i], g, t.lo[i], t.hi[i], error,
                    std::isnan(ratio) ? kInf : ratio});
  if (!ok && tally.first(Check::element))
    tally.at(Check::element).detail =
        fmt::format("{}: got {:g}, exact {:.17g}, {:.4g} ulp, {:.4g} times the bound; x - m = {:g}", at(c, j),
                    g, p, error, ratio, t.d[i]);
  if (c.profile) {
    // The error includes the last rounding, so the bound that is drawn includes it too.
    const double last = c.terms.narrows ? 0.5 * ulp(c.out, limit.upper_hi + w) : 0;
    c.profile->element(-t.d[i], error, std::isfinite(g) ? signed_ulp_error(c.out, g, exact) : kInf,
                       (std::max(limit.upper_hi - p, p - limit.lower_lo) + w + last) / ulp(c.out, p));
  }
  return ok;
}

namespace {

void judge_coherence(const RowContext& c, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  const RowBounds& b = *c.bounds;
  const Terms& k = c.terms;
  const auto a = static_cast<std::size_t>(t.argmax);
  const double ga = got.values[a];
  if (!(ga > 4 * b.w)) return;
  const double pa = 0.5 * (t.lo[a] + t.hi[a]);
  const double stored = k.stored ? 2 * lam(k.u_out) : 0;
  const double kept = 4 * (k.exp_constant + lam(k.u));
  const double fixed = 2 * lam(k.D_own) + 2 * lam(k.u_out) + lam(b.w / ga) + k.eps(c.shift->f[a]) + stored;
  for (std::size_t j = 0; j < got.values.size(); ++j) {
    const double g = got.values[j];
    if (!(g > 4 * b.w) || std::isinf(t.d[j]) || std::isinf(c.shift->f[j])) continue;
    // ln(p_j / p_a) is exactly d_j, so ln(g_j / g_a) - f_j = ln(ratio) + d_j - f_j with a ratio near 1.
    const double p = 0.5 * (t.lo[j] + t.hi[j]);
    const double x = (g / ga) / (p / pa) - 1;
    const double log_ratio = std::fabs(x) < 0x1p-12 ? x - x * x * (0.5 - x / 3) : std::log1p(x);
    // A kernel that rounds the shift less than it claims, or keeps an exp taken with an older maximum, is
    // close to d_j and not to f_j.
    const double error = k.kept || k.any_shift
                             ? std::fabs(log_ratio)
                             : std::min(std::fabs(log_ratio), std::fabs(log_ratio - c.shift->delta[j]));
    double bound = k.eps(c.shift->f[j]) + fixed + lam(b.w / g);
    if (k.kept) bound += kept + (std::fabs(t.d[j]) + std::fabs(t.d[a])) * k.kept_slope();
    if (!t.slack.empty() || (k.any_shift && !k.kept)) bound += c.shift->delta[j];
    // Four doubles of 2^-52 relative width and four operations contribute to the error; x - m itself is
    // rounded.
    const double slack = 0x1p-48 + 0x1p-52 * std::fabs(t.d[j]);
    if (!c.tally.judge(Check::coherence, error - slack, error + slack, bound, bound * (1 + 0x1p-40)) &&
        c.tally.first(Check::coherence))
      c.tally.at(Check::coherence).detail =
          fmt::format("{}: ln(p/p_argmax) is off the rounded shift by {:.4g}, bound {:.4g}",
                      at(c, static_cast<std::int64_t>(j)), error, bound);
  }
}

void judge_monotone(const RowContext& c, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  const Terms& k = c.terms;
  const std::size_t n = t.order.size();
  double least = kInf;   // smallest output among strictly larger logits
  double worst_eps = 0;  // largest eps among them
  std::int64_t least_at = -1;
  std::size_t i = 0;
  while (i < n) {
    const auto first = static_cast<std::size_t>(t.order[i]);
    if (std::isinf(t.d[first])) break;
    double group_least = kInf;
    std::int64_t group_least_at = -1;
    std::size_t e = i;
    for (; e < n; ++e) {
      const auto j = static_cast<std::size_t>(t.order[e]);
      if (t.x[j] != t.x[first]) break;
      const double g = got.values[j];
      // Kept exps of two tiles with different maxima were rounded differently. Two shifts whose rounding is
      // not known may be rounded differently too.
      if (e > i && !c.terms.kept && !c.terms.any_shift &&
          !c.tally.require(Check::monotone, got.bits[j] == got.bits[first]) && c.tally.first(Check::monotone))
        c.tally.at(Check::monotone).detail =
            fmt::format("row {}: columns {} and {} hold the same logit {:g} and got {:a} and {:a}", c.row.row,
                        c.row.column(first), c.row.column(j), t.x[j], got.values[first], g);
      if (!(g >= group_least)) {
        group_least = g;
        group_least_at = static_cast<std::int64_t>(j);
      }
    }
    double eps = std::isinf(c.shift->f[first]) ? 0 : k.eps(c.shift->f[first]);
    // Logits that the kernel computes itself may have another order.
    if (!t.slack.empty()) eps += c.shift->delta[first];
    if (least_at >= 0) {
      const double slack = order_slack(k, worst_eps + eps, t.d[first]);
      const double g = got.values[first];
      // With a monotone exp and a correctly rounded division the order is exact, with no absolute part.
      const double floor = slack == 0 ? g : g * (1 - slack) - 2 * c.bounds->w;
      if (!c.tally.require(Check::monotone, least >= floor) && c.tally.first(Check::monotone))
        c.tally.at(Check::monotone).detail = fmt::format(
            "row {}: column {} has the larger logit {:g} but got {:a}, column {} with {:g} got {:a}",
            c.row.row, c.row.column(least_at), t.x[static_cast<std::size_t>(least_at)], least,
            c.row.column(first), t.x[first], g);
    }
    worst_eps = std::max(worst_eps, eps);
    if (!(group_least >= least)) {
      least = group_least;
      least_at = group_least_at;
    }
    i = e;
  }
}

void judge_range(const RowContext& c, const RowOutput& got) {
  const double top = c.bounds->range_top;
  const std::uint64_t sign = format(c.out).sign_mask();
  for (std::size_t j = 0; j < got.values.size(); ++j) {
    const double g = got.values[j];
    if (!c.tally.require(Check::range, g >= 0 && g <= top && !(got.bits[j] & sign)) &&
        c.tally.first(Check::range))
      c.tally.at(Check::range).detail =
          fmt::format("{}: got {:a}, outside [0, {:.9g}]", at(c, static_cast<std::int64_t>(j)), g, top);
  }
}

void judge_argmax(const RowContext& c, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  const Terms& k = c.terms;
  const auto a = static_cast<std::size_t>(t.argmax);
  const double ga = got.values[static_cast<std::size_t>(t.argmax)];
  std::size_t largest = static_cast<std::size_t>(t.argmax);
  for (std::size_t j = 0; j < got.values.size(); ++j)
    if (got.values[j] > got.values[largest]) largest = j;
  // exp(0) = 1, and exp(t) <= 1 for t < 0. This is exact for a subtracted maximum (eps(0) = 0); otherwise the
  // exp's own error is allowed.
  const double other_logits = t.slack.empty() ? 0 : c.shift->delta[a] + c.shift->delta[largest];
  const double numerators =
      2 * k.eps(c.bounds->anchor) + (k.kept ? 4 * (k.exp_constant + lam(k.u)) : 0) + other_logits;
  const double roundings = 2 * lam(k.D_own) + (k.stored ? 4 : 2) * lam(k.u_out);
  const double slack = numerators > 0 || k.D_own > k.u ? numerators + roundings : 0;
  const double floor = got.values[largest] * (1 - slack) - (slack > 0 ? 2 * c.bounds->w : 0);
  if (!c.tally.require(Check::argmax, ga >= floor) && c.tally.first(Check::argmax))
    c.tally.at(Check::argmax).detail =
        fmt::format("row {}: the maximum is in column {} with {:a}, column {} got {:a}", c.row.row,
                    c.row.column(t.argmax), ga, c.row.column(largest), got.values[largest]);
}

}  // namespace

void judge_row_sum(const RowContext& c, std::span<const double> values) {
  double sum = 0, rest = 0;  // double-double
  for (double g : values) {
    const double t = sum + g;
    const double z = t - sum;
    rest += (sum - (t - z)) + (g - z);
    sum = t;
  }
  // Epsilon in the divisor lowers the sum by its share.
  const double error = std::fabs((sum - 1) + rest + c.bounds->share);
  const double bound = c.bounds->row_sum;
  // A double-double sum of outputs that add up to about 1 has an error below 2^-50. The bound's own rounding
  // is below 2^-40 of it.
  const double slack = 0x1p-50 + 0x1p-47 * c.bounds->share;
  if (!c.tally.judge(Check::row_sum, error - slack, error + slack, bound, bound * (1 + 0x1p-40)) &&
      c.tally.first(Check::row_sum))
    c.tally.at(Check::row_sum).detail =
        fmt::format("row {}: the stored outputs add up to {:.12g}, off by {:.4g}, bound {:.4g}", c.row.row,
                    sum + rest, error, bound);
}

void judge_probabilities(const RowContext& c, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  for (std::size_t j = 0; j < got.values.size(); ++j)
    judge_element(c, static_cast<std::int64_t>(j), got.values[j], got.bits[j]);
  if (t.finite == 1 && t.x.size() == 1 && c.terms.epsilon == 0) {
    // fl(1 / 1) is 1 however it is computed. Naive kernels, and exp2 of an argument that is not 0, divide e^x
    // by itself.
    const bool one = c.terms.shifted && !c.terms.exp2;
    const double stored = !one && c.terms.stored ? 2 * c.terms.u_out : 0;
    const double allowed = (one || c.claim.division == Division::ieee ? 0 : c.terms.D) + stored;
    if (!c.tally.require(Check::special, std::fabs(got.values[0] - 1) <= allowed) &&
        c.tally.first(Check::special))
      c.tally.at(Check::special).detail =
          fmt::format("row {}: a softmax of one logit must be 1, got {:a}", c.row.row, got.values[0]);
  }
  judge_side_by_side(c, got);
  judge_row_sum(c, got.values);
  if (!c.terms.narrows) c.statistics.resolution.sum(c.bounds->row_sum);
  judge_range(c, got);
}

void judge_side_by_side(const RowContext& c, const RowOutput& got) {
  judge_coherence(c, got);
  judge_monotone(c, got);
  judge_argmax(c, got);
}

std::string describe_values(std::span<const double> values) {
  std::int64_t nan = 0, above = 0, below = 0, zero = 0, one = 0, other = 0;
  for (double g : values) {
    if (std::isnan(g))
      ++nan;
    else if (std::isinf(g))
      ++(g > 0 ? above : below);
    else if (g == 0)
      ++zero;
    else if (g == 1)
      ++one;
    else
      ++other;
  }
  std::string s;
  const auto add = [&s](const char* what, std::int64_t n) {
    if (n > 0) s += fmt::format("{}{} x{}", s.empty() ? "" : ", ", what, n);
  };
  add("NaN", nan);
  add("+inf", above);
  add("-inf", below);
  add("0", zero);
  add("1", one);
  add("between", other);
  return s.empty() ? "nothing" : s;
}

}  // namespace assay

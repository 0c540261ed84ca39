// SPDX-License-Identifier: Apache-2.0
// Judges special values by the declared policy, and the normalizer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "accuracy/judge/row_judge.hpp"

namespace assay {
namespace {

enum class Want { nan, zero };

/// The bound of |ln(d / s)|. A d without epsilon is known as accurately as the divisor, relative to a smaller
/// sum: s^ = fl(d + epsilon).
double sum_bound(const RowContext& c, bool with_epsilon) {
  const RowBounds& b = *c.bounds;
  if (with_epsilon) return b.b;
  const double u = c.terms.u;
  const double off =
      (std::expm1(b.b) + u * std::exp(b.b) + b.share * (u + c.terms.w_epsilon / c.terms.epsilon)) /
      (1 - b.share);
  return lam(off) * (1 + 0x1p-24);
}

bool matches(Want w, double g) { return w == Want::nan ? std::isnan(g) : g == 0 && !std::signbit(g); }

}  // namespace

void judge_special(const RowContext& c, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  for (std::size_t j = 0; j < got.values.size(); ++j) {
    Want want = Want::nan;
    if (t.kind == RowKind::all_neg_inf && c.claim.policy.all_neg_inf == NegInfRows::zero) want = Want::zero;
    if (t.kind == RowKind::pos_inf && c.claim.policy.pos_inf == PosInfRows::inf_only && !(t.x[j] == INFINITY))
      want = Want::zero;
    if (!c.tally.require(Check::special, matches(want, got.values[j])) && c.tally.first(Check::special))
      c.tally.at(Check::special).detail =
          fmt::format("row {}, column {} ({}): logit {:g} must give {}, got {:g}", c.row.row, c.row.column(j),
                      t.kind == RowKind::nan       ? "a NaN in the row"
                      : t.kind == RowKind::pos_inf ? "+inf in the row"
                                                   : "all -inf",
                      t.x[j], want == Want::nan ? "NaN" : "0", got.values[j]);
  }
}

void judge_normalizer(const RowContext& c, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  Tally& tally = c.tally;
  const auto require = [&](bool holds, const std::string& what) {
    if (!tally.require(Check::normalizer, holds) && tally.first(Check::normalizer))
      tally.at(Check::normalizer).detail =
          fmt::format("row {}: {}: (m, d) = ({:a}, {:a})", c.row.row, what, got.m, got.d);
  };
  if (t.kind == RowKind::all_neg_inf) {
    if (c.claim.algorithm == Algorithm::online)
      require(got.m == -INFINITY &&
                  (got.d == 0 || std::fabs(got.d - c.terms.epsilon) <= 2 * c.terms.u * c.terms.epsilon),
              "all -inf must give the identity (-inf, 0)");
    else if (c.terms.shifted)
      require(got.m == -INFINITY, "m must be -inf");
    return;
  }
  if (t.kind == RowKind::nan) {
    require(std::isnan(got.d), "d must be NaN");
    return;
  }
  if (t.kind == RowKind::pos_inf) {
    if (c.terms.shifted) require(got.m == INFINITY, "m must be +inf");
    if (!c.terms.shifted)
      require(got.d == INFINITY, "d must be +inf");
    else if (c.claim.policy.pos_inf == PosInfRows::nan)
      require(std::isnan(got.d), "d must be NaN");
    return;
  }
  // m must be exact. A naive kernel's m is the shift that it applied, 0.
  const double m = c.terms.shifted ? t.m : 0;
  const double off = t.slack.empty() ? 0 : *std::max_element(t.slack.begin(), t.slack.end());
  require(std::fabs(got.m - m) <= off || (got.m == 0 && std::fabs(m) < c.terms.flush),
          fmt::format("m must be {:a}", m));
  const double divisor =
      c.terms.shifted ? std::log(0.5 * (t.s.lo + t.s.hi)) + c.bounds->anchor : 0.5 * (t.lse.lo + t.lse.hi);
  // Epsilon may be part of d, or be added when d is used. The nearer value counts.
  const double without = divisor + std::log1p(-std::min(c.bounds->share, 1 - 0x1p-52));
  const double ln_d = std::log(got.d);
  const bool in_it = c.bounds->share == 0 || !(std::fabs(ln_d - without) < std::fabs(ln_d - divisor));
  const double exact = in_it ? divisor : without, bound = sum_bound(c, in_it);
  const double error = std::fabs(ln_d - exact);
  // A sum that is exactly 1 and was computed as 1 has no error.
  const bool one = t.s.lo == 1 && t.s.hi == 1 && exact == 0 && got.d == 1;
  const double slack = one ? 0 : 0x1p-50 * (1 + std::fabs(exact));
  if (!tally.judge(Check::normalizer, error - slack, error + slack, bound, bound * (1 + 0x1p-40)) &&
      tally.first(Check::normalizer))
    tally.at(Check::normalizer).detail =
        fmt::format("row {}: ln d is off by {:.4g}, bound {:.4g}: d = {:a}, exact {:a}", c.row.row, error,
                    bound, got.d, std::exp(exact));
  if (c.bounds->b < INFINITY) c.statistics.resolution.sum(c.bounds->b);
  if (c.claim.algorithm == Algorithm::online && c.terms.unit_maximum()) {
    // 1 <= d <= j holds exactly while j <= 2^p; beyond that the last roundings may carry d above j.
    const auto j = static_cast<double>(t.finite);
    const double plain = j <= 1 / c.terms.u ? j : j * std::exp(c.terms.h * lam(c.terms.u));
    const double top =
        plain + c.bounds->epsilon * (1 + 2 * c.terms.u) + (c.bounds->share > 0 ? c.terms.u * plain : 0);
    require(got.d >= 1 && got.d <= top, fmt::format("1 <= d <= {} must hold", t.finite));
  }
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The bounds of a row, in the order of BOUNDS.md from section 3 on: one pass over the row, two sums.
#include "accuracy/bounds/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "accuracy/bounds/divisor.hpp"
#include "accuracy/bounds/function_table.hpp"
#include "accuracy/bounds/head_and_tail.hpp"

namespace assay {
namespace {

// Every bound is computed in double and then raised by this factor, which covers the roundings of that
// computation: a series cut after terms of relative size 2^-30, a difference of neighbouring doubles, a plain
// sum of n terms. A sum of n doubles has a relative error of n 2^-53.
constexpr double kInflate = 1 + 0x1p-24;
double inflate(double n) { return kInflate + n * 0x1p-51; }

/// A NaN bounds nothing, so it becomes infinity.
double finite_or_infinite(double bound) {
  return std::isnan(bound) ? std::numeric_limits<double>::infinity() : bound;
}

/// |log2e - fl(log2e)| / log2e is below 0.2241 u in f32.
constexpr double kLog2e = 0.2241;

struct ExpError {
  double k;      // relative error (2k + 1) u, from a maximum of k ulp
  double slope;  // additional relative error per unit of |t|, in u
  bool monotone;
};

/// The error of each exp by name and backend, from function_table.cpp, which names the sources. A slope in
/// that table is in ulp, so it is at most twice as many u. The arguments of exp2_fma may be positive. There
/// only the table of a swept device knows whether the order is kept, so it is not assumed.
ExpError exp_error(Exp e, Backend backend, Dtype arithmetic) {
  const DeclaredError& d = declared_error(function_of(e), e == Exp::half ? arithmetic : Dtype::f32, backend);
  // Whether a plugin's own exp keeps the order was never measured.
  return {d.k, 2 * d.slope, d.monotone && e != Exp::exp2_fma && backend != Backend::plugin};
}

/// Relative error of logf, in u. A log in 16-bit arithmetic is assumed to be as good in its own u.
double log_error(Backend backend) {
  const DeclaredError& d = declared_error("logf", Dtype::f32, backend);
  return d.relative > 0 ? d.relative / unit_roundoff(Dtype::f32) : 2 * d.k + 1;
}

/// The division's largest error, in ulp from the correctly rounded quotient.
double division_error(Division d, Backend backend, Dtype arithmetic) {
  if (d == Division::approximate) return declared_error("__fdividef", Dtype::f32, backend).k;
  return declared_error(arithmetic == Dtype::f32 ? "x/y" : "__hdiv", arithmetic, backend).k;
}

/// How often a term is rescaled on its way into the sum, at most, and the length of these rescales.
struct Path {
  double exps = 0;      // exps applied to it
  double products = 0;  // rounded products
  double length = 0;    // sum of the magnitudes of their arguments
};

/// The paths with late rescaling: counts the distinct finite logits above x_i - reach, for descending i
/// (THEOREM_ONLINE.md section 5).
class LazyPaths {
 public:
  LazyPaths(const Terms& t, const RowTruth& row) : t_(t), row_(row) {
    if (t.tau == 0) return;
    above_.assign(row.x.size(), 0);
    // Positions by descending logit; -inf is last, NaN does not occur.
    std::size_t end = 0;
    const auto logit = [&](std::size_t r) { return row.x[static_cast<std::size_t>(row.order[r])]; };
    while (end < row.order.size() && std::isfinite(logit(end))) ++end;
    if (end == 0) return;
    lowest_ = logit(end - 1);
    const double distinct = row.larger[static_cast<std::size_t>(row.order[end - 1])] + 1;
    for (std::size_t r = 0, below = 0; r < end; ++r) {
      const double floor = logit(r) - t.tau * (1 + t.u);
      while (below < end && logit(below) > floor) ++below;
      above_[static_cast<std::size_t>(row.order[r])] =
          below < end ? row.larger[static_cast<std::size_t>(row.order[below])] : distinct;
    }
  }

  Path of(std::size_t i) const {
    const double d = std::isinf(row_.d[i]) ? 0 : std::fabs(row_.d[i]);
    if (t_.tau == 0) {
      const double larger = std::min(static_cast<double>(row_.larger[i]), t_.rescales);
      return {std::min(t_.merges + 1, larger), std::min(t_.merges, larger), d};
    }
    const double reach = std::min(t_.tau * (1 + t_.u), row_.x[i] - lowest_);
    if (!(reach >= 0)) return {};  // -inf
    // x_i may be its own reference. Otherwise the logits above the lowest possible reference are counted.
    const double above = std::min(reach == 0 ? row_.larger[i] : above_[i], t_.rescales);
    return {std::min(t_.merges + 2, above + (reach > 0)), std::min(t_.merges + 1, above), d + 2 * reach};
  }

 private:
  const Terms& t_;
  const RowTruth& row_;
  std::vector<double> above_;
  double lowest_ = 0;
};

}  // namespace

double lam(double t) { return t < 1 ? -std::log1p(-t) : std::numeric_limits<double>::infinity(); }

Terms limited(Terms t, const SumLimit& limit) {
  t.h = std::min(t.h, limit.height + (t.epsilon > 0));
  t.merges = std::min(t.merges, limit.merges.value_or(t.h));
  t.rescales = std::min(t.rescales, limit.rescales);
  if (limit.shifted_logs) t.any_log_form = false;
  return t;
}

Terms terms_of(const Claim& claim, Backend backend, Dtype out, std::int64_t V) {
  Terms t;
  t.arithmetic = claim.internals == Internals::f32   ? Dtype::f32
                 : claim.internals == Internals::f16 ? Dtype::f16
                                                     : Dtype::bf16;
  t.narrow = claim.internals != Internals::f32;
  t.u = unit_roundoff(t.arithmetic);
  t.u_out = t.arithmetic == out ? 0 : unit_roundoff(out);
  const ExpError e = exp_error(claim.exp, backend, t.arithmetic);
  t.exp_constant = lam((2 * e.k + 1) * t.u);
  // lam is convex: lam(a + c |t|) <= lam(a) + c |t| / (1 - a - c |t|), and e^t is 0 or infinite past 110.
  const double steep = e.slope * t.u;
  t.exp_slope = steep / (1 - (2 * e.k + 1) * t.u - 110 * steep);
  t.eta = (2 * e.k + 1) * 0.5 * min_subnormal(t.arithmetic);
  // A result just above the smallest normal number may be computed a little too small, and then is flushed
  // too.
  if (claim.ftz) {
    t.flush = min_normal(t.arithmetic) * (1 + 16 * t.u);
    t.eta += t.flush;
  }
  t.monotone_exp = e.monotone;
  t.log_error = log_error(backend) * t.u;
  const double divided = (2 * division_error(claim.division, backend, t.arithmetic) + 1) * t.u;
  t.D = claim.division == Division::reciprocal ? 2 * t.u + t.u * t.u : divided;  // two roundings: (1 + u)^2
  t.D_own = claim.division == Division::reciprocal ? t.u : t.D;
  // Half the smallest subnormal for the output's rounding. An approximate division has 2 ulp error, which
  // adds two smallest subnormals if its result is subnormal.
  t.w_out = (t.u_out == 0 && claim.division == Division::approximate ? 2.5 : 0.5) * min_subnormal(out);
  // An output wider than the arithmetic (f16 in, f32 out) also has the error of a subnormal quotient.
  if (min_subnormal(t.arithmetic) > min_subnormal(out))
    t.w_out += (claim.division == Division::approximate ? 2.5 : 0.5) * min_subnormal(t.arithmetic);
  t.w_out += t.flush;
  t.narrows = t.u_out > t.u;
  t.w_quotient =
      (claim.division == Division::approximate ? 2.5 : 0.5) * min_subnormal(t.arithmetic) + t.flush;
  t.h = claim.height ? static_cast<double>(claim.height(V)) : 0;
  if (claim.epsilon > 0) {
    t.epsilon = claim.epsilon;
    t.w_epsilon = 0.5 * min_subnormal(t.arithmetic) + t.flush;
    t.h += 1;
  }
  t.merges = t.h;
  t.stored = claim.numerators == Numerators::output && unit_roundoff(out) > t.u;
  t.numerators = t.stored ? out : t.arithmetic;
  t.online = claim.algorithm == Algorithm::online;
  t.tau = t.online ? claim.rescale_threshold : 0;
  t.shifted = claim.shift != Shift::none;
  t.any_shift = claim.shift == Shift::any;
  t.exp2 = claim.exp == Exp::exp2_fma;
  t.kept = claim.normalise == Normalise::kept;
  t.absorb = claim.log_form == LogForm::absorb;
  t.any_log_form = claim.log_form == LogForm::any;
  return t;
}

RowBounds row_bounds(const Terms& t, const RowTruth& row, const RoundedShift& shift, SumTerms* terms) {
  const std::size_t n = row.x.size();
  RowBounds r;
  r.A.resize(n);
  const bool rescaled = t.online || t.kept;
  const auto finite = static_cast<double>(row.finite);
  r.anchor = anchor_of(row, shift);
  r.epsilon = relative_epsilon(t, r.anchor);
  r.share = r.epsilon / row.s.lo;
  // Adding the identity, or 0, is exact. So a path has at most as many roundings as the row has other terms.
  const double h = std::min(t.h, std::max(0.0, finite - 1) + (r.epsilon > 0));
  const double lam_u = lam(t.u);  // a logarithm, and the loop needs it for every element
  const double tree = h * lam_u;
  const bool is_long = h > kShortSum && t.tau == 0 && !row.order.empty();
  // Each of several successive shifts has an error of u times its length; a product with log2e adds more.
  const double per_nat = (t.exp2 ? 2 + kLog2e + 0x1p-12 : 1) * t.u + t.exp_slope * (1 + t.u);
  const LazyPaths paths(t, row);
  double excess = 0;      // sum p_i (e^beta_i - 1), beta_i the log-error of term i inside the sum
  double own_excess = 0;  // sum p_i (e^own_i - 1), own_i the log-error of its numerator
  double total = 0;       // sum p_i: 1 minus the share of epsilon
  double stored = 0, most_stored = 0;  // absolute errors of stored numerators: their sum, and the largest
  double range_top = 0;
  // Ones add up exactly as long as their number is a number of the format (FloatSum.ones_exact,
  // RoundedTree.equal_logits). e^0 is 1.
  bool ones = t.unit_maximum() && r.epsilon == 0 && row.slack.empty() && finite <= 1 / t.u;
  std::vector<double> grown_before;  // p (e^e0 - 1) of each term, e0 its log-error before the additions
  AbsoluteErrors errors;
  if (is_long) grown_before.assign(n, 0);
  if (is_long && t.stored) errors.stored.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const double p = row.hi[i];
    const double sigma = t.shifted ? std::fabs(shift.delta[i]) : 0;
    const bool vanishes = std::isinf(shift.f[i]);
    ones = ones && (row.d[i] == 0 || std::isinf(row.d[i]));
    double own = vanishes ? 0 : sigma + t.eps(shift.f[i]);
    if (t.stored && !vanishes) {
      const StoredNumerator numerator = stored_numerator(t, shift.f[i], t.any_shift ? sigma : 0);
      own = sigma + numerator.relative;
      stored += numerator.absolute;
      most_stored = std::max(most_stored, numerator.absolute);
      if (!errors.stored.empty()) errors.stored[i] = numerator.absolute;
    }
    double beta = own;
    if (rescaled) {
      const Path path = paths.of(i);
      // The error of a single subtraction is known exactly. Of several subtractions each one is rounded;
      // together they are as long as the path.
      const bool single = path.exps <= 1 && !t.exp2;
      if (!vanishes) {
        beta = path.exps * t.exp_constant + path.products * lam_u +
               (single ? sigma + t.exp_slope * (1 + t.u) * path.length : per_nat * path.length);
        // A kept exp was rounded with its own, older maximum, and rescaled at most twice.
        if (t.kept) {
          const double twice = std::min(2.0, path.products);
          own += std::fabs(row.d[i]) * t.kept_slope() + twice * (t.exp_constant + lam_u);
        }
      }
      if (p > 0) r.K_max = std::max(r.K_max, path.exps);
      // The sum may be taken of the stored numerators, which are never rescaled.
      if (t.stored) beta = std::max(beta, own);
    }
    r.A[i] = own;
    total += row.lo[i];
    if (p > 0) {
      // Beyond 1 the product p e^beta is computed as one exponential: on far rows p is the smallest double
      // and beta is huge.
      const auto grown = [&](double by) {
        return by < 1 ? p * growth(by) : std::exp(row.d[i] + by) / row.s.lo - row.lo[i];
      };
      excess += grown(beta + tree);
      own_excess += grown(own);
      if (is_long) grown_before[i] = grown(beta);
      range_top = std::max(range_top, row.d[i] + own);
    }
  }
  // Epsilon is a term without an exp: it has its own rounding, and the additions.
  if (r.share > 0) excess += r.share * growth(lam_u + tree);
  // The terms of a naive kernel are e^x, not e^(x - m): the absolute error of the exp is scaled by s e^m =
  // e^lse.
  const double scale =
      t.shifted ? row.s.lo * std::exp(std::min(0.0, r.anchor)) : std::exp(std::min(700.0, row.lse.lo));
  r.eta_s = scale > 0 ? t.eta / scale : std::numeric_limits<double>::infinity();
  const double plain = std::log1p(excess);
  // One more exp and product bring the sum of an online kernel to the numerators' scale.
  const double last_step = t.exp2 && rescaled ? t.eps(r.anchor) + lam_u : 0;
  // The absolute errors of subnormal exps, with everything that increases them on the way up: one in the term
  // itself, and at most two in its rescales. If results are flushed, the products of those rescales have them
  // too.
  errors.rescales = (1 + std::min(2.0, r.K_max)) * (t.flush > 0 && rescaled ? 2 : 1) * std::exp(t.tau);
  const double besides = r.share > 0 || t.stored ? (stored + (r.share > 0 ? t.w_epsilon : 0)) / scale : 0;
  const double lost = (finite * errors.rescales * r.eta_s + besides) * std::exp(2 * (plain + last_step));
  const double absolute = lam(lost);
  const double inflated = inflate(static_cast<double>(n));
  double b = plain + last_step + absolute;
  if (terms != nullptr) *terms = {h, plain * inflated, lost * inflated, 0, {}};
  if (is_long) {
    const double step = std::exp(2 * last_step);
    errors.exp = r.eta_s * step;
    for (double& one : errors.stored) one *= step / scale;
    errors.epsilon = r.share > 0 ? t.w_epsilon / scale * step : 0;
    const std::vector<double> heads = by_heads(t, row, h, grown_before, r.share, errors);
    double sharper = std::numeric_limits<double>::infinity();
    for (const double head : heads) sharper = std::min(sharper, head);
    const bool deep = 2 * h > finite;
    const double depth = deep ? by_depth(t, row, h, grown_before, r.share) + absolute : 0;
    if (deep) sharper = std::min(sharper, depth);
    if (terms != nullptr) {
      terms->depth = depth * inflated;
      terms->heads = heads;
      for (double& head : terms->heads) head *= inflated;
    }
    b = std::min(b, std::max(sharper, std::log1p(own_excess) + kShortSum * lam_u) + last_step);
  }
  // No enclosure of the exact sum is narrower than this.
  r.b = ones ? 0x1p-40 : finite_or_infinite(b * inflated);
  r.rounding = lam(t.u_out);
  const double common = lam(t.D) + r.rounding + r.b;
  double exps = std::exp(common) * (t.kept ? (t.flush > 0 ? 6 : 4) : 1) * r.eta_s;
  if (t.stored) exps += std::exp(common) * most_stored / scale;
  r.w = finite_or_infinite((exps + t.w_out) * inflated);
  r.w_quotient = finite_or_infinite((exps + t.w_quotient) * inflated);
  for (double& A : r.A) A = (A + common) * kInflate;
  // Safe and naive kernels: numerator and sum use the same exps, so only the tree and the last roundings are
  // left.
  const double divided = lam(t.D) + r.rounding;
  const double own = std::log1p(r.share > 0 ? own_excess / total : own_excess);
  double apart = r.b + own;
  if (!rescaled && !t.stored) {
    // The errors of the exps change their weight relative to epsilon.
    const double beside = own + absolute + lam_u + (r.share > 0 ? lam(t.w_epsilon / t.epsilon) : 0);
    apart = std::min(apart, tree + (r.share > 0 ? r.share * beside * std::exp(beside) : 0));
  }
  r.row_sum = finite_or_infinite((std::expm1(apart + divided) + finite * r.w) * inflated);
  r.range_top = t.unit_maximum() || (!rescaled && !t.stored) ? (t.D_own > t.u ? 1 + t.D : 1)
                                                             : std::exp(range_top + common);
  return r;
}

double order_slack(const Terms& t, double eps, double d) {
  // The order of an exp was measured only for arguments below 0. A kept exp carries the rescales of its own
  // tile. If the rounding of the shift is not known, both shifts may be off.
  const bool in_order = t.monotone_exp && t.shifted && !t.kept && !t.any_shift;
  const double numerators = (in_order ? 0 : eps) + (t.kept ? 4 * (t.exp_constant + lam(t.u)) : 0) +
                            (t.kept || t.any_shift ? 2 * std::fabs(d) * t.kept_slope() : 0);
  // If the numerators are in order, correct roundings keep them in order. If they may not be, a difference in
  // their last place can become one in the output's last place.
  if (!(numerators > 0) && !(t.D_own > t.u)) return 0;
  return numerators + 2 * lam(t.D_own) + 2 * lam(t.u_out) + (t.stored ? 2 * lam(t.u_out) : 0);
}

LogBounds log_bounds(const Terms& t, const RowTruth& row, const RowBounds& b) {
  LogBounds r;
  // A naive kernel takes the log of s e^m, which is lse itself; the others take the log of s, which is at
  // least 1.
  const double log_s =
      t.shifted ? std::log(row.s.hi) : std::max(std::fabs(row.lse.lo), std::fabs(row.lse.hi));
  // The log is taken of the computed sum, which includes the factor e^anchor.
  const double anchor = t.shifted ? std::fabs(b.anchor) : 0;
  r.log_sum = finite_or_infinite((b.b + t.log_error * (log_s + b.b + anchor) + anchor) * kInflate);
  const double lse = std::max(std::fabs(row.lse.lo), std::fabs(row.lse.hi));
  r.lse = (t.shifted ? r.log_sum + t.u * (lse + r.log_sum) : r.log_sum) * kInflate;
  // If all logits are off by this slack, lse is off by as much, and x - lse by twice as much.
  for (const double slack : row.slack) r.slack = std::max(r.slack, slack);
  r.lse += 2 * r.slack;
  return r;
}

double LogBounds::element(const Terms& t, double y, double sigma) const {
  const double shifted = log_sum + sigma;
  const double before = t.absorb || !t.shifted ? lse : t.any_log_form ? std::max(lse, shifted) : shifted;
  return (before + t.u * (std::fabs(y) + before)) * kInflate;
}

}  // namespace assay

// Row by row: BOUNDS.md section 3 on, in its order. One pass over the row, two sums.
#include "accuracy/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "accuracy/functions/function_table.hpp"

namespace assay {
namespace {

// Every bound is computed in double. Its own rounding (a plain sum of up to 2^26 terms, series cut after
// terms of relative size 2^-30, a difference of neighbouring doubles) is covered by raising it by this
// factor.
constexpr double kInflate = 1 + 0x1p-24;

/// |log2e - fl(log2e)| / log2e is below 0.2241 u in f32.
constexpr double kLog2e = 0.2241;

/// An upper bound of e^b - 1 for b >= 0, without a call where b is small: e^b - 1 <= b + 0.719 b^2 on [0, 1].
double growth(double b) { return b < 1 ? b + 0.719 * b * b : std::expm1(b); }

struct ExpError {
  double k;      // at most (2k + 1) u relative, from a maximum of k ulp
  double slope;  // further relative error per unit of |t|, in u
  bool monotone;
};

/// The exp functions by name and backend: what function_table.cpp declares of them, with its sources. A slope
/// there is in ulp, at most twice as many u. The arguments of exp2_fma may be positive, where only the table
/// of a device that was swept knows the order: not assumed.
ExpError exp_error(Exp e, Backend backend, Dtype arithmetic) {
  const char* name = e == Exp::accurate ? "expf"
                     : e == Exp::fast   ? "__expf"
                     : e == Exp::half   ? "hexp"
                                        : "exp2f";
  const DeclaredError& d = declared_error(name, e == Exp::half ? arithmetic : Dtype::f32, backend);
  // Nobody measured the order of somebody else's exp.
  return {d.k, 2 * d.slope, d.monotone && e != Exp::exp2_fma && backend != Backend::plugin};
}

/// Relative error of logf, in u; a log of 16-bit arithmetic is taken to be as good in its own u.
double log_error(Backend backend) {
  const DeclaredError& d = declared_error("logf", Dtype::f32, backend);
  return d.relative > 0 ? d.relative / unit_roundoff(Dtype::f32) : 2 * d.k + 1;
}

/// The division's largest error, in ulp from the correctly rounded quotient.
double division_error(Division d, Backend backend, Dtype arithmetic) {
  if (d == Division::approximate) return declared_error("__fdividef", Dtype::f32, backend).k;
  return declared_error(arithmetic == Dtype::f32 ? "x/y" : "__hdiv", arithmetic, backend).k;
}

/// How often a term is rescaled on its way into the sum, at most, and how far its path is.
struct Path {
  double exps = 0;      // exps applied to it
  double products = 0;  // rounded products
  double length = 0;    // sum of their arguments, without sign
};

/// The number of distinct finite logits above x_i - reach, for descending i: THEOREM_ONLINE.md section 5.
class LazyPaths {
 public:
  LazyPaths(const Terms& t, const RowTruth& row) : t_(t), row_(row) {
    if (t.tau == 0) return;
    above_.assign(row.x.size(), 0);
    // Positions by descending logit; -inf stands last, NaN does not occur.
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
      const double larger = row_.larger[i];
      return {std::min(t_.h + 1, larger), std::min(t_.h, larger), d};
    }
    const double reach = std::min(t_.tau * (1 + t_.u), row_.x[i] - lowest_);
    if (!(reach >= 0)) return {};  // -inf
    // x_i may be its own reference; what lies above it otherwise is counted from the lowest reference on.
    const double above = reach == 0 ? row_.larger[i] : above_[i];
    return {std::min(t_.h + 2, above + (reach > 0)), std::min(t_.h + 1, above), d + 2 * reach};
  }

 private:
  const Terms& t_;
  const RowTruth& row_;
  std::vector<double> above_;
  double lowest_ = 0;
};

}  // namespace

double lam(double t) { return t < 1 ? -std::log1p(-t) : std::numeric_limits<double>::infinity(); }

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
  // A result just above the smallest normal number, computed a little too small, is flushed too.
  if (claim.ftz) {
    t.flush = min_normal(t.arithmetic) * (1 + 16 * t.u);
    t.eta += t.flush;
  }
  t.monotone_exp = e.monotone;
  t.log_error = log_error(backend) * t.u;
  const double divided = (2 * division_error(claim.division, backend, t.arithmetic) + 1) * t.u;
  t.D = claim.division == Division::reciprocal ? 2 * t.u + t.u * t.u : divided;  // two roundings: (1 + u)^2
  t.D_own = claim.division == Division::reciprocal ? t.u : t.D;
  // Half the smallest subnormal for the output's rounding; an approximate division of 2 ulp adds two whole
  // ones where its own result is subnormal.
  t.w_out = (t.u_out == 0 && claim.division == Division::approximate ? 2.5 : 0.5) * min_subnormal(out);
  // An output wider than the arithmetic, f16 in and f32 out, keeps what the quotient lost.
  if (min_subnormal(t.arithmetic) > min_subnormal(out))
    t.w_out += (claim.division == Division::approximate ? 2.5 : 0.5) * min_subnormal(t.arithmetic);
  t.w_out += t.flush;
  t.h = claim.height ? static_cast<double>(claim.height(V)) : 0;
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

RowBounds row_bounds(const Terms& t, const RowTruth& row, const RoundedShift& shift) {
  const std::size_t n = row.x.size();
  RowBounds r;
  r.A.resize(n);
  const bool rescaled = t.online || t.kept;
  const double tree = t.h * lam(t.u);
  // Successive shifts are each off by u of their length; as a product with log2e by more.
  const double per_nat = (t.exp2 ? 2 + kLog2e + 0x1p-12 : 1) * t.u + t.exp_slope * (1 + t.u);
  const LazyPaths paths(t, row);
  double excess = 0;      // sum p_i (e^beta_i - 1), beta_i the log-error of term i inside the sum
  double own_excess = 0;  // sum p_i (e^own_i - 1), own_i the log-error of its numerator
  double range_top = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double p = row.hi[i];
    const double sigma = t.shifted ? std::fabs(shift.delta[i]) : 0;
    const bool vanishes = std::isinf(shift.f[i]);
    double own = vanishes ? 0 : sigma + t.eps(shift.f[i]);
    double beta = own;
    if (rescaled) {
      const Path path = paths.of(i);
      // A single subtraction is known exactly. Of several, each is rounded; they add up to the path.
      const bool single = path.exps <= 1 && !t.exp2;
      if (!vanishes) {
        beta = path.exps * t.exp_constant + path.products * lam(t.u) +
               (single ? sigma + t.exp_slope * (1 + t.u) * path.length : per_nat * path.length);
        // A kept exp was rounded at its own, older maximum, and rescaled at most twice.
        if (t.kept) {
          const double twice = std::min(2.0, path.products);
          own += std::fabs(row.d[i]) * t.kept_slope() + twice * (t.exp_constant + lam(t.u));
        }
      }
      if (p > 0) r.K_max = std::max(r.K_max, path.exps);
    }
    beta += tree;
    r.A[i] = own;
    if (p > 0) {
      // Past 1 the product p e^beta is formed as one exponential: on far rows p is the smallest double and
      // beta is huge.
      const auto grown = [&](double by) {
        return by < 1 ? p * growth(by) : std::exp(row.d[i] + by) / row.s.lo - row.lo[i];
      };
      excess += grown(beta);
      own_excess += grown(own);
      range_top = std::max(range_top, row.d[i] + own);
    }
  }
  const auto finite = static_cast<double>(row.finite);
  r.anchor = row.argmax >= 0 ? shift.f[static_cast<std::size_t>(row.argmax)] : 0;
  // Naive's terms are e^x, not e^(x - m): the absolute error of the exp is scaled by s e^m = e^lse.
  const double scale =
      t.shifted ? row.s.lo * std::exp(std::min(0.0, r.anchor)) : std::exp(std::min(700.0, row.lse.lo));
  r.eta_s = scale > 0 ? t.eta / scale : std::numeric_limits<double>::infinity();
  double relative = std::log1p(excess);
  // The sum of an online kernel is moved to the numerators' scale by one more exp and product.
  if (t.exp2 && rescaled) relative += t.eps(r.anchor) + lam(t.u);
  // Absolute errors of subnormal exps, grown by everything that happens to them on the way up: one in a term
  // itself, and at most two in its rescales.
  // Where results are flushed, the products of those rescales too.
  const double subnormals =
      (1 + std::min(2.0, r.K_max)) * (t.flush > 0 && rescaled ? 2 : 1) * std::exp(t.tau);
  const double absolute = lam(finite * subnormals * r.eta_s * std::exp(2 * relative));
  r.b = (relative + absolute) * kInflate;
  const double common = lam(t.D) + lam(t.u_out) + r.b;
  r.w = (std::exp(common) * (t.kept ? (t.flush > 0 ? 6 : 4) : 1) * r.eta_s + t.w_out) * kInflate;
  for (double& A : r.A) A = (A + common) * kInflate;
  // Safe and naive: the same exps above and below, so only the tree and the last roundings are left.
  const double divided = lam(t.D) + lam(t.u_out);
  const double apart = rescaled ? r.b + std::log1p(own_excess) : tree;
  r.row_sum = (std::expm1(apart + divided) + finite * r.w) * kInflate;
  r.range_top = t.unit_maximum() || !rescaled ? (t.D_own > t.u ? 1 + t.D : 1) : std::exp(range_top + common);
  return r;
}

double order_slack(const Terms& t, double eps, double d) {
  // The exps found monotone were tried below 0 only. A kept exp carries the rescales of its own tile, and of
  // a shift rounded in an unknown way each of the two may be off.
  const bool in_order = t.monotone_exp && t.shifted && !t.kept && !t.any_shift;
  const double numerators = (in_order ? 0 : eps) + (t.kept ? 4 * (t.exp_constant + lam(t.u)) : 0) +
                            (t.kept || t.any_shift ? 2 * std::fabs(d) * t.kept_slope() : 0);
  // Where numerators are in order, correct roundings keep them so; where they may not be, a difference in
  // their last place can become one in the output's.
  return numerators > 0 || t.D_own > t.u ? numerators + 2 * lam(t.D_own) + 2 * lam(t.u_out) : 0;
}

LogBounds log_bounds(const Terms& t, const RowTruth& row, const RowBounds& b) {
  LogBounds r;
  // Naive takes the log of s e^m, which is lse itself; the others that of s, at least 1.
  const double log_s =
      t.shifted ? std::log(row.s.hi) : std::max(std::fabs(row.lse.lo), std::fabs(row.lse.hi));
  r.log_sum = (b.b + t.log_error * (log_s + b.b) + (t.shifted ? std::fabs(b.anchor) : 0)) * kInflate;
  const double lse = std::max(std::fabs(row.lse.lo), std::fabs(row.lse.hi));
  r.lse = (t.shifted ? r.log_sum + t.u * (lse + r.log_sum) : r.log_sum) * kInflate;
  return r;
}

double LogBounds::element(const Terms& t, double y, double sigma) const {
  const double shifted = log_sum + sigma;
  const double before = t.absorb || !t.shifted ? lse : t.any_log_form ? std::max(lse, shifted) : shifted;
  return (before + t.u * (std::fabs(y) + before)) * kInflate;
}

}  // namespace assay

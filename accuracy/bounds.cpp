#include "accuracy/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

// Every bound is computed in double. Its own rounding (a plain sum of up to 2^26 terms, series cut after
// terms of relative size 2^-30, a difference of neighbouring doubles) is covered by raising it by this
// factor.
constexpr double kInflate = 1 + 0x1p-24;

/// An upper bound of e^b - 1 for b >= 0, without a call where b is small: e^b - 1 <= b + 0.719 b^2 on [0, 1].
double growth(double b) { return b < 1 ? b + 0.719 * b * b : std::expm1(b); }

struct ExpError {
  double k;      // at most (2k + 1) u relative, from a maximum of k ulp
  double slope;  // further relative error per unit of |t|, in u
  bool monotone;
};

/// The exp functions by name and backend.
/// accurate, cuda: CUDA guide, table of maximum ulp errors: expf 2 ulp; monotone over every negative input
/// on an H200. accurate, host: glibc 2.36, below 1.02 u (expf_test measures it); monotonicity not assumed.
/// fast: CUDA guide, __expf: 2 + floor(|1.173 x|) ulp, that is 2.346 |x| u, from the rounded product with
/// log2 e; the host's __expf is the same product and a better exp2. half: hexp is correctly rounded (H200,
/// all 2^16 inputs; the host's by construction, half_test).
ExpError exp_error(Exp e, Backend backend) {
  const bool cuda = backend == Backend::cuda;
  switch (e) {
    case Exp::accurate:
      return cuda ? ExpError{2, 0, true} : ExpError{0.01, 0, false};
    case Exp::fast:
      return {2, 2.346, cuda};
    case Exp::half:
      return {0, 0, true};
  }
  return {};
}

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
  const ExpError e = exp_error(claim.exp, backend);
  t.exp_constant = lam((2 * e.k + 1) * t.u);
  t.exp_slope = e.slope * t.u;
  t.eta = (2 * e.k + 1) * 0.5 * min_subnormal(t.arithmetic);
  t.monotone_exp = e.monotone;
  t.D = claim.division == Division::ieee ? t.u : 5 * t.u;
  // Half the smallest subnormal for the output's rounding; an approximate division of 2 ulp adds two whole
  // ones where its own result is subnormal.
  t.w_out = (t.u_out == 0 && claim.division == Division::approximate ? 2.5 : 0.5) * min_subnormal(out);
  t.h = claim.height ? static_cast<double>(claim.height(V)) : 0;
  t.online = claim.algorithm == Algorithm::online;
  t.shifted = claim.shift == Shift::subtract;
  t.kept = claim.normalise == Normalise::kept;
  return t;
}

RoundedShift shift_of(const RowTruth& row, Dtype arithmetic, bool shifted) {
  const std::size_t n = row.x.size();
  RoundedShift s;
  s.f.resize(n);
  s.delta.assign(n, 0);
  if (!shifted) {
    s.f = row.x;
    return s;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double exact = row.x[i] - row.m;  // inexact by at most 2^-53 |d|, far below u |d|
    double f;
    if (arithmetic == Dtype::f32)
      f = static_cast<double>(static_cast<float>(row.x[i]) - static_cast<float>(row.m));
    else
      f = round_to(arithmetic, exact);
    s.f[i] = f;
    s.delta[i] = std::isinf(f) ? 0 : f - exact;
  }
  return s;
}

RowBounds row_bounds(const Terms& t, const RowTruth& row, const RoundedShift& shift) {
  const std::size_t n = row.x.size();
  RowBounds r;
  r.A.resize(n);
  const double rescale = t.exp_constant + lam(t.u);
  const double tree = t.h * lam(t.u);
  double excess = 0;  // sum p_i (e^beta_i - 1), beta_i the log-error of term i inside the sum
  double online_excess =
      0;  // sum p_i (e^tau_i - 1), tau_i what separates a numerator from its term in the sum
  for (std::size_t i = 0; i < n; ++i) {
    const double p = row.hi[i];
    const double sigma = t.shifted ? std::fabs(shift.delta[i]) : 0;
    const double eps = std::isinf(shift.f[i]) ? 0 : t.eps(shift.f[i]);
    const double K = t.online || t.kept ? std::min(t.h, static_cast<double>(row.larger[i])) : 0;
    // A term rescaled more than once was shifted in several steps, each rounded: together at most |d| u,
    // because the running maximum only rises.
    const double steps =
        K >= 2 && std::isfinite(shift.f[i]) ? std::max(sigma, std::fabs(row.d[i]) * t.u) : sigma;
    const double term = sigma + eps;
    const double beta = steps + eps + K * rescale + tree;
    const double tau = sigma + steps + 2 * eps + K * rescale;
    if (p > 0) {
      // Past 1 the product p e^beta is formed as one exponential: on far rows p is the smallest double and
      // beta is huge.
      excess += beta < 1 ? p * growth(beta) : std::exp(row.d[i] + beta) / row.s.lo;
      online_excess += tau < 1 ? p * growth(tau) : std::exp(row.d[i] + tau) / row.s.lo;
      r.K_max = std::max(r.K_max, K);
    }
    // A kept exp was rounded at its own, older maximum: |d| u for the shift, and its rescales.
    const double kept =
        t.kept && row.d[i] != 0 && std::isfinite(row.d[i]) ? std::fabs(row.d[i]) * t.u + K * rescale : 0;
    r.A[i] = term + kept;
  }
  // Naive's terms are e^x, not e^(x - m): the absolute error of the exp is scaled by s e^m = e^lse.
  const double scale = t.shifted ? row.s.lo : std::exp(std::min(700.0, row.lse.lo));
  r.eta_s = scale > 0 ? t.eta / scale : std::numeric_limits<double>::infinity();
  // Absolute errors of subnormal exps, grown by everything that happens to them on the way up.
  const double relative = std::log1p(excess);
  const double subnormal_terms =
      lam(static_cast<double>(row.finite) * (1 + r.K_max) * r.eta_s * std::exp(relative));
  r.b = (relative + subnormal_terms) * kInflate;
  const double common = lam(t.D) + lam(t.u_out) + r.b;
  r.w = (std::exp(common) * r.eta_s + t.w_out) * kInflate;
  for (double& A : r.A) A = (A + common) * kInflate;
  // Safe and naive: the same exps above and below, so only the tree and the last roundings are left.
  const double apart = t.online || t.kept ? std::log1p(online_excess) + subnormal_terms : 0;
  r.row_sum =
      (std::expm1(tree + lam(t.D) + lam(t.u_out) + apart) + static_cast<double>(row.finite) * r.w) * kInflate;
  return r;
}

std::string outside_domain(const Claim& claim, const RowTruth& row, double b) {
  const double log_max_f32 = std::log(max_finite(Dtype::f32));
  if (claim.algorithm == Algorithm::naive) {
    if (row.kind == RowKind::pos_inf) {
      double largest = -std::numeric_limits<double>::infinity();
      for (double x : row.x)
        if (std::isfinite(x)) largest = std::max(largest, x);
      if (!(largest < log_max_f32))
        return fmt::format("a finite logit {:g} overflows exp (from {:.4f})", largest, log_max_f32);
    }
    if (row.kind == RowKind::finite || row.kind == RowKind::masked) {
      const double lowest = std::log(min_normal(Dtype::f32)) + 1;
      if (!(row.m >= lowest)) return fmt::format("maximum {:.6g} is below {:.4f}", row.m, lowest);
      const double limit = claim.division == Division::approximate ? 87.33 : log_max_f32;
      if (!(row.lse.hi + b < limit))
        return fmt::format("lse {:.6g} is not below {:.4f}", row.lse.hi, limit - b);
    }
  }
  if (claim.internals == Internals::f16 && (row.kind == RowKind::finite || row.kind == RowKind::masked) &&
      !(row.s.hi * std::exp(b) < max_finite(Dtype::f16)))
    return fmt::format("the sum {:.6g} is not below {:.6g}", row.s.hi, max_finite(Dtype::f16) * std::exp(-b));
  return {};
}

}  // namespace assay

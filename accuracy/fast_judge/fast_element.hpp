// SPDX-License-Identifier: Apache-2.0
// The element check in fp64: what the fast judge does with one element, in one source for AVX2 and CUDA. It
// may pass an element only if the full check (row_judge.cpp) passes it too; every other element is left open.
// FAST_TIER.md in reference/ proves the enclosure. FAST_JUDGE.md here proves that a pass is right.
#pragma once

#include <cstdint>

#include "reference/oracle/fast_exp.hpp"

namespace assay::fast {

/// x - m in fp32 arithmetic: f = fl(x - m), and the rounding error err, exact by two-sum. err is NaN if f is
/// infinite.
ASSAY_HOST_DEVICE void round_shift(float x, float m, float& f, float& err) {
  f = x - m;
  const float back = f - x;
  err = (x - (f - back)) + (-m - back);
}

/// Exps are computed for f >= kNearest only; below that, e^(x - m) is in [0, 2^-1019].
inline constexpr float kNearest = -707.0f;

/// e^(f + err), or 0 below kNearest and at -inf. Relative error kExpError.
ASSAY_HOST_DEVICE double exp_shift(float f, float err) {
  const bool near = f >= kNearest;
  const double F = near ? f : 0.0f, E = near ? err : 0.0f;
  const double t = F + E;
  const double e = exp(t, E - (t - F));
  return near ? e : 0.0;
}

/// A claim's constants, rounded towards a smaller bound. See Terms (bounds.hpp) for the meaning.
struct ClaimConstants {
  float eps_0 = 0, slope = 0;  // log-error of the exp: eps_0 + slope |t|, 0 at t = 0
  double lam_u = 0;            // of one addition
  double additions = 0;        // on a path, at most kShortSum: beyond it the full bound may be sharper
  double output = 0;           // the part of D and u_out in the element's bound, in the log
  double divided = 0;          // lam(D) + lam(u_out), the same for the row sum's bound
  double half_ulp = 0;         // 0.5 where a wider result is rounded to the output at the end, 0 elsewhere
  double eta = 0, w_out = 0;
  float top = 1;                        // largest output in range
  int emin = -126, mantissa_bits = 23;  // of the output
};

/// sigma + eps of one element: the part of its bound that only this element has.
ASSAY_HOST_DEVICE float own_error(const ClaimConstants& c, float f, float err) {
  const float eps = f == 0 ? 0.0f : c.eps_0 + c.slope * (f < 0 ? -f : f);
  return (err < 0 ? -err : err) + eps;
}

/// What the second pass needs from the first one.
struct RowConstants {
  float m = 0;
  float common = 0;  // lower bound of the element's bound without its own error
  double inverse_s = 0;
  double tree = 0;  // lower bound of h lam(u)
  double w = 0;     // lower bound
};

/// Computes them from the sums over the row: s = sum e, and weighted = sum e (sigma + eps), accurate to 1 %.
ASSAY_HOST_DEVICE RowConstants row_constants(const ClaimConstants& c, float m, double s, double weighted) {
  RowConstants r;
  r.m = m;
  r.inverse_s = 1 / s;
  // A path has at most as many additions as the row has terms, less one; each term is at most 1.
  double additions = s * (1 - 0x1p-40) - 1;
  additions = additions < c.additions ? additions : c.additions;
  // Nothing but maxima: ones add up exactly.
  if (!(weighted > 0)) additions = 0;
  r.tree = (additions > 0 ? additions : 0.0) * c.lam_u;
  // b = ln(sum p e^beta) + ..., beta >= tree + own error; e^x >= 1 + x and ln(1 + x) >= x - x^2/2.
  double R = 0.99 * weighted * r.inverse_s;
  R = R < 1 ? R : 1;
  const double b = r.tree + (R - 0.5 * R * R);
  r.common = static_cast<float>((c.output + b) * (1 - 0x1p-22));
  r.w = (c.eta * r.inverse_s + c.w_out) * (1 - 0x1p-40);
  return r;
}

struct ElementVerdict {
  bool pass;
  double error, bound;  // distance of p from the numbers that round to g; lower bound of the allowed one
  float ulp;            // error in units in the last place of p, accurate to 2^-24
};

/// The rounding is undecided for errors this close to half an ulp.
inline constexpr double kRoundingSlack = 0x1p-22;

/// Judges one output g against p = e / s, where e = exp_shift of x - m.
ASSAY_HOST_DEVICE ElementVerdict judge(const ClaimConstants& c, const RowConstants& r, float x, float g,
                                       double e) {
  float f, err;
  round_shift(x, r.m, f, err);
  const double p = e * r.inverse_s;
  // A condition has the same width as the values that it selects: mixed widths prevent vectorisation of the
  // loop.
  const bool masked = !(static_cast<double>(x) >= -0x1.fffffep127);  // -inf must give exactly 0
  const bool near = f >= kNearest;
  // 1 - e^-A >= A - A^2/2, which is increasing up to A = 1. The factor covers the fp32 roundings here and the
  // width of p's enclosure: 2^-49 of p is below 2^-20 of A, because A is 2^-24 or more.
  float A = (near ? own_error(c, f, err) : 0.0f) + r.common;
  A = A < 0.5f ? A : 0.5f;
  const float allowed = (A - 0.5f * A * A) * (1 - 0x1p-19f);
  ElementVerdict v;
  const double difference = static_cast<double>(g) - p;
  const double distance = difference < 0 ? -difference : difference;
  // Half the distance to g's neighbour on p's side; below a power of two the distance is halved.
  const double G = static_cast<double>(g);
  const std::int64_t at = (bits_of(G) >> 52) - 1023;
  const double gap = c.half_ulp * from_bits((1023 + (at < c.emin ? c.emin : at) - c.mantissa_bits) << 52);
  const bool dense = (bits_of(G) & 0xfffffffffffff) == 0 && at > c.emin && difference > 0;
  const double beyond = distance - (dense ? 0.5 * gap : gap);
  v.error = beyond < 0 ? 0.0 : beyond;
  v.bound = masked ? 0 : fma(p, static_cast<double>(allowed), r.w);
  v.pass = (v.error <= v.bound) & (G <= c.top) & (bits_of(G) >= 0);

  const std::int64_t exponent = (bits_of(p) >> 52) - 1023;
  const std::int64_t unit = (exponent < c.emin ? c.emin : exponent) - c.mantissa_bits;
  v.ulp = static_cast<float>(distance * from_bits((1023 - unit) << 52));
  return v;
}

/// Statistics of the judged elements. Counts are exact; sums are accurate enough for a mean.
struct Statistics {
  float max_ulp = 0;
  double sum_ulp = 0;
  std::int64_t correctly_rounded = 0;
  std::int64_t rounding_undecided = 0;
  double utilisation = 0;  // largest error / (lower bound of the bound)
};

}  // namespace assay::fast

// The element check in fp64, one source for AVX2 and CUDA: what the fast judge does with one element. It may
// only pass an element that the full check (row_judge.cpp) passes too; everything else is left open.
// FAST_TIER.md in reference/ proves the enclosure, FAST_JUDGE.md here that a pass is a pass.
#pragma once

#include <cstdint>

#include "reference/oracle/fast_exp.hpp"

namespace assay::fast {

/// x - m as fp32 arithmetic has it: f = fl(x - m), and what the rounding lost (two-sum: exact). err is NaN
/// where f is infinite.
ASSAY_HOST_DEVICE void round_shift(float x, float m, float& f, float& err) {
  f = x - m;
  const float back = f - x;
  err = (x - (f - back)) + (-m - back);
}

/// Exps are taken for f >= kNearest; below, e^(x - m) is in [0, 2^-1019].
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
  double additions = 0;        // on a path, kShortSum at most: past that the full bound may be sharper
  double output = 0;           // what of D and u_out the element's bound grants in the log
  double divided = 0;          // lam(D) + lam(u_out), which the row sum's grants
  double half_ulp = 0;         // 0.5 where a wider result is rounded to the output at the end, 0 elsewhere
  double eta = 0, w_out = 0;
  float top = 1;                        // largest output in range
  int emin = -126, mantissa_bits = 23;  // of the output
};

/// sigma + eps of one element: its own part of every bound.
ASSAY_HOST_DEVICE float own_error(const ClaimConstants& c, float f, float err) {
  const float eps = f == 0 ? 0.0f : c.eps_0 + c.slope * (f < 0 ? -f : f);
  return (err < 0 ? -err : err) + eps;
}

/// What the second pass needs of the first.
struct RowConstants {
  float m = 0;
  float common = 0;  // lower bound of what the element's bound grants beside its own error
  double inverse_s = 0;
  double tree = 0;  // lower bound of h lam(u)
  double w = 0;  // lower bound
};

/// From the sums over the row: s = sum e, weighted = sum e (sigma + eps) to 1 %.
ASSAY_HOST_DEVICE RowConstants row_constants(const ClaimConstants& c, float m, double s, double weighted) {
  RowConstants r;
  r.m = m;
  r.inverse_s = 1 / s;
  // No path has more additions than the row has terms beside one; each of those is at most 1.
  double additions = s * (1 - 0x1p-40) - 1;
  additions = additions < c.additions ? additions : c.additions;
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
  double error, bound;  // how far p lies from what rounds to g, and a lower bound of what is allowed
  float ulp;            // error in units of the last place of p, to 2^-24
};

/// Errors this close to half an ulp leave the rounding undecided.
inline constexpr double kRoundingSlack = 0x1p-22;

/// One output g against p = e / s, e = exp_shift of x - m.
ASSAY_HOST_DEVICE ElementVerdict judge(const ClaimConstants& c, const RowConstants& r, float x, float g,
                                       double e) {
  float f, err;
  round_shift(x, r.m, f, err);
  const double p = e * r.inverse_s;
  // Conditions are of the width of what they choose between: mixed ones keep a loop from being vectorised.
  const bool masked = !(static_cast<double>(x) >= -0x1.fffffep127);  // -inf must give exactly 0
  const bool near = f >= kNearest;
  // 1 - e^-A >= A - A^2/2, which grows up to A = 1. The factor covers the fp32 roundings here and the width
  // of p's enclosure: 2^-49 of p is below 2^-20 of A, which is 2^-24 or more.
  float A = (near ? own_error(c, f, err) : 0.0f) + r.common;
  A = A < 0.5f ? A : 0.5f;
  const float allowed = (A - 0.5f * A * A) * (1 - 0x1p-19f);
  ElementVerdict v;
  const double difference = static_cast<double>(g) - p;
  const double distance = difference < 0 ? -difference : difference;
  // Half the distance to g's neighbour on p's side; below a power of two that is half as much.
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

/// Statistics of the elements judged. Sums are exact enough for a mean, counts are exact.
struct Statistics {
  float max_ulp = 0;
  double sum_ulp = 0;
  std::int64_t correctly_rounded = 0;
  std::int64_t rounding_undecided = 0;
  double utilisation = 0;  // largest error / bound, the bound from below
};

}  // namespace assay::fast

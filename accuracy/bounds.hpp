// Error bounds: the names in a claim become formulas here and nowhere else. BOUNDS.md beside this file
// derives them; the symbols are the same:
// u, eps, eta, sigma, K, h, D, w, A, b, lam(t) = -ln(1 - t).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "reference/oracle.hpp"

namespace assay {

/// -ln(1 - t): the log-error of a factor whose relative error is at most t. Infinite from t = 1.
double lam(double t);

/// The constants of a claim on one backend, for rows of V.
struct Terms {
  double u = 0;               // unit roundoff of the arithmetic
  double u_out = 0;           // of the output; 0 where the result already is in the output's format
  double exp_constant = 0;    // eps_0
  double exp_slope = 0;       // eps(t) = exp_constant + exp_slope |t|, and 0 at t = 0
  double eta = 0;             // absolute error of the exp where its result is subnormal
  double D = 0;               // relative error of the division
  double w_out = 0;           // absolute error of the output where it is subnormal
  double h = 0;               // additions on the highest path
  bool online = false;        // partial sums are rescaled
  bool shifted = true;        // exp(x - m); false: exp(x)
  bool kept = false;          // outputs keep an exp taken with an older maximum
  bool narrow = false;        // all arithmetic in a 16-bit type
  bool monotone_exp = false;  // the exp was found monotone over every input
  Dtype arithmetic = Dtype::f32;

  double eps(double t) const { return t == 0 ? 0 : exp_constant + exp_slope * (t < 0 ? -t : t); }
};

Terms terms_of(const Claim& claim, Backend backend, Dtype out, std::int64_t V);

/// The shift as the arithmetic rounds it: shared by all keys with the same format and shift.
struct RoundedShift {
  std::vector<double> f;      // argument of the exp: fl(x_i - m), or x_i where nothing is subtracted
  std::vector<double> delta;  // f_i - (x_i - m); 0 where f_i is -inf
};
RoundedShift shift_of(const RowTruth& row, Dtype arithmetic, bool shifted);

/// Everything about one row that the checks need.
struct RowBounds {
  double b = 0;        // bounds |ln(computed sum / s)|
  double eta_s = 0;    // eta / s (naive: eta / (s e^m))
  double w = 0;        // eta_s e^(b + lam(D) + lam(u_out)) + w_out: absolute part of every element's bound
  double row_sum = 0;  // bounds |sum of stored outputs - 1|
  double K_max = 0;
  std::vector<double> A;  // log-error bound of every element
};
RowBounds row_bounds(const Terms& t, const RowTruth& row, const RoundedShift& shift);

/// Empty, or why the row is outside the claim's domain: "lse 1e4 is not below 88.7228". `b` bounds the
/// log-error of the computed sum, which must not overflow either.
std::string outside_domain(const Claim& claim, const RowTruth& row, double b);

}  // namespace assay

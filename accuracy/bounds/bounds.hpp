// SPDX-License-Identifier: Apache-2.0
// Error bounds: the only place where the names in a claim become formulas. BOUNDS.md and its companions in
// this folder derive them. The symbols are the same here and there: u, eps, eta, sigma, K, h, D, w, A, b,
// lam(t) = -ln(1 - t).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "reference/oracle/oracle.hpp"

namespace assay {

/// -ln(1 - t): the log-error of a factor whose relative error is at most t. Infinite from t = 1.
double lam(double t);

/// The constants of a claim on one backend, for rows of row length V.
struct Terms {
  double u = 0;             // unit roundoff of the arithmetic
  double u_out = 0;         // unit roundoff of the output; 0 if the arithmetic is in the output's format
  double exp_constant = 0;  // eps_0
  double exp_slope = 0;     // eps(t) = exp_constant + exp_slope |t|, and 0 at t = 0
  double eta = 0;           // absolute error of the exp where its result is subnormal
  double log_error = 0;     // E_log: relative error of the log
  double D = 0;             // relative error of the division
  double D_own = 0;         // the part of D that is not common to the elements of a row
  double w_out = 0;         // absolute error of a subnormal output
  double w_quotient = 0;    // the same for the quotient, before the rounding to a narrower output
  double flush = 0;         // a result below this may become 0: the smallest normal number, or 0
  double h = 0;             // additions on the longest path, the one of epsilon included
  double merges = 0;        // the same, with those that a wider accumulator hides: each may rescale a term
  double epsilon = 0;       // added to the sum
  double w_epsilon = 0;     // absolute error of epsilon in the arithmetic
  bool stored = false;      // numerators are kept in the outputs' narrower type
  double rescales = std::numeric_limits<double>::infinity();  // how often one term is rescaled, at most
  double tau = 0;             // how far the reference of a partial sum may lie below its maximum
  bool online = false;        // partial sums are rescaled
  bool shifted = true;        // exp(x - m); false: exp(x)
  bool any_shift = false;     // the rounding of x - m is not known; relative error at most u
  bool exp2 = false;          // exp2(fma(x, log2e, -fl(m log2e)))
  bool kept = false;          // outputs keep an exp taken with an older maximum
  bool absorb = false;        // log-softmax as x - lse
  bool any_log_form = false;  // as x - lse or as (x - m) - ln s
  bool narrow = false;        // all arithmetic in a 16-bit type
  bool narrows = false;       // the last step rounds a wider result to the output's format
  bool monotone_exp = false;  // the exp was found monotone over every input
  Dtype arithmetic = Dtype::f32;
  Dtype numerators = Dtype::f32;  // the type of stored numerators

  /// Log-error per nat of the shifts of a kept exp. Each step is rounded; with exp2 the product with log2e is
  /// rounded too.
  double kept_slope() const { return exp2 ? 2.2245 * u : u; }
  double eps(double t) const { return t == 0 ? 0 : exp_constant + exp_slope * (t < 0 ? -t : t); }
  /// The maximum contributes exactly 1 to the sum, and no factor exceeds 1.
  bool unit_maximum() const { return shifted && !exp2 && tau == 0; }
};

Terms terms_of(const Claim& claim, Backend backend, Dtype out, std::int64_t V);

/// The argument of the exp as the arithmetic rounds it.
struct RoundedShift {
  std::vector<double> f;  // fl(x_i - m); x_i where nothing is subtracted; ln 2 fma(x_i, log2e, -fl(m log2e))
  /// f_i - f_argmax - (x_i - m); 0 where f_i is -inf. An upper bound where the rounding is not known.
  std::vector<double> delta;
};
/// Shared by all keys with the same format and shift.
RoundedShift shift_of(const RowTruth& row, Dtype arithmetic, bool shifted);
/// The same, rounded as the claim's arithmetic rounds.
RoundedShift shift_of(const RowTruth& row, const Terms& t);

/// Everything about one row that the checks need.
struct RowBounds {
  double b = 0;           // bounds |ln(computed sum / (s e^anchor))|
  double anchor = 0;      // argument of the exp at the maximum: 0 for a subtracted maximum, m for naive
  double eta_s = 0;       // eta / (s e^anchor)
  double w = 0;           // absolute part of every element's bound
  double w_quotient = 0;  // the same, before the last rounding to a narrower output
  double rounding = 0;    // lam(u_out): A[i] minus this is the bound before that rounding
  double row_sum = 0;     // bounds |sum of stored outputs - 1|
  double range_top = 1;   // the largest output allowed
  double K_max = 0;
  double epsilon = 0;     // relative to e^anchor, like s
  double share = 0;       // epsilon's share of the divisor: the outputs add up to 1 - share
  std::vector<double> A;  // log-error bound of every element
};
/// What b is made of, each raised as b is, for the test that compares it with the formula in Coq
/// (accuracy/proof/RowFormula.v).
struct SumTerms {
  double h = 0;               // additions on a path that the row can have
  double plain = 0;           // by the height, without absolute errors
  double lost = 0;            // lam of this is the absolute errors' part
  double depth = 0;           // by the depths; 0 if they are not used
  std::vector<double> heads;  // by a head of 1, 2, 4, ... terms
};
/// `row`: the row with the claim's epsilon in its sum (accuracy/bounds/divisor.hpp).
RowBounds row_bounds(const Terms& t, const RowTruth& row, const RoundedShift& shift,
                     SumTerms* terms = nullptr);

/// The same row for Coq: a `case` of accuracy/proof/RowFormula.v, whose terms are the finite logits, by
/// columns in the order of coq_columns. outside_coq: empty, or what the formula there does not cover.
std::string coq_case(const Terms& t, const RowTruth& row, const RoundedShift& shift);
std::vector<std::size_t> coq_columns(const RowTruth& row);
std::string outside_coq(const Terms& t, const RowTruth& row, const RoundedShift& shift);
/// x as Coq reads it: (m, e)%Z for m 2^e.
std::string coq_dyadic(double x);

/// The head and tail bound is used for sums with more additions than this. Shorter sums are bounded by their
/// height alone, and the fast judge relies on that.
inline constexpr double kShortSum = 64;

/// A limit on the sum that a judgement may assume beyond the claim: at most this many additions on a path,
/// and at most this many rescales of a term. It is used to judge the outputs more sharply (verdict.hpp).
struct SumLimit {
  double height = std::numeric_limits<double>::infinity();
  double rescales = std::numeric_limits<double>::infinity();
  std::optional<double> merges =
      {};                     // additions that may rescale a term, whether they round or not; empty: height
  bool shifted_logs = false;  // assume (x - m) - log d where the claim leaves the form open
};
Terms limited(Terms t, const SumLimit& limit);

/// Bounds of lse and log-softmax, in absolute terms and before the last rounding to the output's format.
struct LogBounds {
  double log_sum = 0;  // error of the computed ln s
  double lse = 0;      // error of the computed m + ln s
  double slack = 0;    // how much a logit that the kernel computes itself may differ
  /// Bound of log-softmax at an element with log-probability y and shift error sigma.
  double element(const Terms& t, double y, double sigma) const;
};
/// How much smaller the output of a larger logit may be than the output of a logit at distance d <= 0 from
/// it: a relative amount; 0 means not at all. `eps`: the errors of both exps together.
double order_slack(const Terms& t, double eps, double d);

LogBounds log_bounds(const Terms& t, const RowTruth& row, const RowBounds& b);

/// Empty, or why the row is outside the claim's domain: "lse 1e4 is not below 88.7228". `b` bounds the
/// log-error of the computed sum, because that sum must not overflow either.
std::string outside_domain(const Claim& claim, const RowTruth& row, double b);

/// Empty, or why no launch of the variant can be judged: its dtype.
std::string unjudged_dtype(const Variant& variant);

/// Empty, or why the variant's author promises nothing for a row with these logits: special values, or too
/// large values.
std::string outside_values(const Variant& variant, std::span<const double> logits);
/// The same for logits that a kernel makes itself from stored ones and operands: -inf where it leaves
/// something out is no promise of the author.
std::string outside_own(const Variant& variant, std::span<const double> logits);
/// The same for logits that a kernel may read but must not use: finite=yes and max_abs apply to them too.
std::string outside_stored(const Variant& variant, std::span<const double> logits);

/// The largest |lse| up to which log-softmax computed as x - lse still tells right from wrong: 2^13 in f32.
double largest_absorbing_lse(const Claim& claim);
/// True if the claim leaves the form of log-softmax open, and only one of the two forms can be judged on this
/// row.
bool absorbed(const Claim& claim, const Terms& terms, const RowTruth& row);

/// Empty, or which declared limit the shape of a problem breaks: "V = 1000 is not a multiple of 256". The
/// first row starts `offset` bytes after a 256-byte boundary. Whether rows are finite is checked row by row
/// elsewhere.
std::string beyond_limits(const Variant& variant, const Problem& problem, std::int64_t offset = 0);

/// The number of rows nearest to `rows` that the limits allow: the next multiple, the smallest or the largest
/// number. 0 stays 0.
std::int64_t allowed_rows(const Limits& limits, std::int64_t rows);

}  // namespace assay

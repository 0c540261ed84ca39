// Error bounds: the names in a claim become formulas here and nowhere else. BOUNDS.md and its companions
// beside this file derive them; the symbols are the same:
// u, eps, eta, sigma, K, h, D, w, A, b, lam(t) = -ln(1 - t).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "reference/oracle/oracle.hpp"

namespace assay {

/// -ln(1 - t): the log-error of a factor whose relative error is at most t. Infinite from t = 1.
double lam(double t);

/// The constants of a claim on one backend, for rows of V.
struct Terms {
  double u = 0;             // unit roundoff of the arithmetic
  double u_out = 0;         // of the output; 0 where the result already is in the output's format
  double exp_constant = 0;  // eps_0
  double exp_slope = 0;     // eps(t) = exp_constant + exp_slope |t|, and 0 at t = 0
  double eta = 0;           // absolute error of the exp where its result is subnormal
  double log_error = 0;     // E_log: relative error of the log
  double D = 0;             // relative error of the division
  double D_own = 0;         // the part of D that two elements of a row do not share
  double w_out = 0;         // absolute error of the output where it is subnormal
  double w_quotient = 0;    // of the quotient alone, before it is rounded to a narrower output
  double flush = 0;         // results below it may be 0: the smallest normal number, or 0
  double h = 0;             // additions on the highest path, that of epsilon among them
  double epsilon = 0;       // added to the sum
  double w_epsilon = 0;     // absolute error of epsilon in the arithmetic
  bool stored = false;      // numerators are kept in the outputs' narrower type
  double rescales = std::numeric_limits<double>::infinity();  // of one term, at most
  double tau = 0;             // how far the reference of a partial sum may lie below its maximum
  bool online = false;        // partial sums are rescaled
  bool shifted = true;        // exp(x - m); false: exp(x)
  bool any_shift = false;     // x - m is rounded in no known way, to a relative u
  bool exp2 = false;          // exp2(fma(x, log2e, -fl(m log2e)))
  bool kept = false;          // outputs keep an exp taken with an older maximum
  bool absorb = false;        // log-softmax as x - lse
  bool any_log_form = false;  // as x - lse or as (x - m) - ln s
  bool narrow = false;        // all arithmetic in a 16-bit type
  bool narrows = false;       // the last step rounds a wider result to the output's format
  bool monotone_exp = false;  // the exp was found monotone over every input
  Dtype arithmetic = Dtype::f32;
  Dtype numerators = Dtype::f32;  // what they are stored in, where they are

  /// Log-error per nat that a kept exp's shifts in steps add: each is rounded; as a product with log2e twice.
  double kept_slope() const { return exp2 ? 2.2245 * u : u; }
  double eps(double t) const { return t == 0 ? 0 : exp_constant + exp_slope * (t < 0 ? -t : t); }
  /// The maximum contributes exactly 1 to the sum, and no factor exceeds 1.
  bool unit_maximum() const { return shifted && !exp2 && tau == 0; }
};

Terms terms_of(const Claim& claim, Backend backend, Dtype out, std::int64_t V);

/// The argument of the exp as the arithmetic rounds it.
struct RoundedShift {
  std::vector<double> f;  // fl(x_i - m); x_i where nothing is subtracted; ln 2 fma(x_i, log2e, -fl(m log2e))
  /// f_i - f_argmax - (x_i - m); 0 where f_i is -inf. Where the rounding is not known, its upper bound.
  std::vector<double> delta;
};
/// Shared by all keys with the same format and shift.
RoundedShift shift_of(const RowTruth& row, Dtype arithmetic, bool shifted);
/// What a claim's own arithmetic rounds to.
RoundedShift shift_of(const RowTruth& row, const Terms& t);

/// Everything about one row that the checks need.
struct RowBounds {
  double b = 0;           // bounds |ln(computed sum / (s e^anchor))|
  double anchor = 0;      // argument of the exp at the maximum: 0 for a subtracted maximum, m for naive
  double eta_s = 0;       // eta / (s e^anchor)
  double w = 0;           // absolute part of every element's bound
  double w_quotient = 0;  // the same before the last rounding, where the output is narrower
  double rounding = 0;    // lam(u_out): A[i] less this is the bound before that rounding
  double row_sum = 0;     // bounds |sum of stored outputs - 1|
  double range_top = 1;   // no output may be larger
  double K_max = 0;
  double epsilon = 0;     // relative to e^anchor, as s is
  double share = 0;       // of epsilon in the divisor: the outputs add up to 1 less this
  std::vector<double> A;  // log-error bound of every element
};
/// `row`: as the claim has it, with epsilon in its sum (accuracy/bounds/divisor.hpp).
RowBounds row_bounds(const Terms& t, const RowTruth& row, const RoundedShift& shift);

/// Head and tail help sums of more additions than this; shorter ones are bounded by their height alone, which
/// the fast judge relies on.
inline constexpr double kShortSum = 64;

/// A sum of at most this many additions on a path, each term rescaled at most so often: what a judgement may
/// assume beyond the claim, when it looks for how sharply the outputs can be judged (verdict.hpp).
struct SumLimit {
  double height = std::numeric_limits<double>::infinity();
  double rescales = std::numeric_limits<double>::infinity();
  bool shifted_logs = false;  // where a claim leaves the form of log-softmax open: (x - m) - log d
};
Terms limited(Terms t, const SumLimit& limit);

/// Bounds of lse and log-softmax, in absolute terms and before the last rounding to the output's format.
struct LogBounds {
  double log_sum = 0;  // of the computed ln s
  double lse = 0;      // of the computed m + ln s
  double slack = 0;    // of a logit that the kernel makes itself: by how much it may differ
  /// Of log-softmax at an element with log-probability y and shift error sigma.
  double element(const Terms& t, double y, double sigma) const;
};
/// By how much, relatively, the output of a larger logit may be below that of one at distance d <= 0; 0: not
/// at all. `eps`: the errors of both exps.
double order_slack(const Terms& t, double eps, double d);

LogBounds log_bounds(const Terms& t, const RowTruth& row, const RowBounds& b);

/// Empty, or why the row is outside the claim's domain: "lse 1e4 is not below 88.7228". `b` bounds the
/// log-error of the computed sum, which must not overflow either.
std::string outside_domain(const Claim& claim, const RowTruth& row, double b);

/// Why the variant's author promises nothing of a row of such logits: special values, or too large ones.
/// Empty where he does.
std::string outside_values(const Variant& variant, std::span<const double> logits);
/// The same of logits that a kernel may read and must not use: finite=yes and max_abs hold for them, too.
std::string outside_stored(const Variant& variant, std::span<const double> logits);

/// Up to this |lse|, log-softmax as x - lse still tells right from wrong: 2^13 in f32.
double largest_absorbing_lse(const Claim& claim);
/// Which form of log-softmax it is was left open, and the row lies where only one of them can be judged.
bool absorbed(const Claim& claim, const Terms& terms, const RowTruth& row);

/// Empty, or which declared limit a problem passes by its shape, its first row `offset` bytes from a 256-byte
/// boundary: "V = 1000 is not a multiple of 256". Whether rows are finite is asked row by row.
std::string beyond_limits(const Variant& variant, const Problem& problem, std::int64_t offset = 0);

/// The number of rows nearest to `rows` that the limits allow: the next multiple, the fewest or the most. 0
/// stays 0.
std::int64_t allowed_rows(const Limits& limits, std::int64_t rows);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Sweeps over pairs of numbers: the softmax of two f16 logits, and the quotient of two f32 mantissas.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "accuracy/functions/function_element.hpp"
#include "accuracy/merge_members.hpp"
#include "kernels/registry.hpp"

namespace assay::pairs {

// Compares a two-element softmax of f16 logits with the exact one; host and device share this source. It is
// the cheap half of the sweep over every pair (below). It passes a row only if the full check
// passes it; every other row is left open for the full check. Compile with contraction off.
//
// Why a pass is right. Differences of f16 values are exact in fp64. With t = |x0 - x1| the exact outputs are
// 1 / (1 + e^-t) and e^-t / (1 + e^-t), computed here with a relative error below 2^-50. In every class the
// bound of an element is at least own + lam(D) + h lam(u) in the log, where h = 1 for two terms; the last
// rounding and a subnormal are added to it. The reason is that b is no smaller than the tree alone, because
// every beta is at least h lam(u) (BOUNDS.md, section 3). The bound of the row sum is at least expm1(lam(D) +
// lam(u_out) + h lam(u)). These are the limits here, made smaller by 2^-20 of themselves. Next to a -inf
// there is no addition: the output must be exactly 1.

/// A claim's constants (Terms, bounds.hpp) and policies, as the pair judge needs them.
struct PairRules {
  functions::Rules half;        // the f16 format
  double common = 0;            // lam(D) + h lam(u), plus lam(u_out) if half_ulp is 0
  double sum = 0;               // lam(D) + lam(u_out) + h lam(u)
  double half_ulp = 0;          // 0.5 where a wider result is rounded to f16 at the end, 0 elsewhere
  double eps_0 = 0, slope = 0;  // own error of the smaller element: eps_0 + slope t
  double apart = 0;             // lam(D_own) + lam(u_out), twice: errors not common to both elements
  double w = 0;                 // absolute error of an element, before the rounding to f16
  double w_out = 0;             // the same, after that rounding
  bool naive = false;           // no subtracted maximum: has a domain, and its own policy for +inf
  double domain_lo = 0;         // naive: a maximum from here ...
  double domain_hi = 0;         // ... up to here is certainly inside; from domain_out on certainly outside
  double domain_out = 0;
  bool zero_rows = false;  // a row of only -inf gives 0, not NaN
  bool inf_only = false;   // +inf gives NaN there and 0 elsewhere, not NaN everywhere
};

enum class PairVerdict { pass, outside, open };

struct PairJudged {
  PairVerdict verdict = PairVerdict::open;
  int elements = 0;  // compared with an exact value
  int correct = 0;   // of those, correctly rounded
  double ulp = -1;   // larger of the two errors
};

/// True if two results are both what a rule says. Any NaN equals any NaN.
ASSAY_HOST_DEVICE bool are(double g0, double g1, std::uint32_t bits, double e0, double e1) {
  const bool first = e0 == e0 ? g0 == e0 && !(bits & 0x8000u) : !(g0 == g0);
  const bool second = e1 == e1 ? g1 == e1 && !(bits & 0x80000000u) : !(g1 == g1);
  return first && second;
}

/// The distance of p from the numbers that round to an f16 number g >= 0. These reach half the distance to
/// g's neighbour on p's side; below a power of two that distance is halved.
ASSAY_HOST_DEVICE double off_by(const PairRules& r, double g, double p) {
  const double distance = g > p ? g - p : p - g;
  double unit = 0x1p-24, power = 0x1p-14;
  for (; unit < 0x1p-11 && g >= 2 * power; unit *= 2) power *= 2;
  const double gap = r.half_ulp * (g > p && g == power && power > 0x1p-14 ? 0.5 * unit : unit);
  return distance > gap ? distance - gap : 0;
}

/// Judges one row: element 0 is in the low half of each word, element 1 in the high half.
ASSAY_HOST_DEVICE PairJudged judge_pair(const PairRules& r, std::uint32_t logits, std::uint32_t probs) {
  constexpr double kInf = __builtin_huge_val();
  const double x0 = value_of_bits(r.half, logits & 0xffff), x1 = value_of_bits(r.half, logits >> 16);
  const double g0 = value_of_bits(r.half, probs & 0xffff), g1 = value_of_bits(r.half, probs >> 16);
  PairJudged out;
  const double nan = kInf * 0;

  // Special rows are judged by rule; a row that breaks the rule is left to the full check, which names the
  // fault.
  if (!(x0 == x0) || !(x1 == x1)) {
    if (are(g0, g1, probs, nan, nan)) out.verdict = PairVerdict::pass;
    return out;
  }
  if (x0 == kInf || x1 == kInf) {
    const double other = r.inf_only ? 0 : nan;
    if (are(g0, g1, probs, x0 == kInf ? nan : other, x1 == kInf ? nan : other))
      out.verdict = PairVerdict::pass;
    return out;
  }
  const double m = x0 > x1 ? x0 : x1;
  if (m == -kInf) {
    const double rule = r.zero_rows ? 0 : nan;
    if (are(g0, g1, probs, rule, rule)) out.verdict = PairVerdict::pass;
    return out;
  }
  if (r.naive) {
    if (m >= r.domain_out || m < r.domain_lo) {
      out.verdict = PairVerdict::outside;
      return out;
    }
    if (!(m <= r.domain_hi)) return out;
  }

  const bool first_larger = x0 >= x1;
  const double large = first_larger ? g0 : g1, small = first_larger ? g1 : g0;
  const double t = first_larger ? x0 - x1 : x1 - x0;  // inf beside a -inf
  bool pass = !(probs & 0x80008000u) && large <= 1 && small <= large;
  if (t == 0) pass = pass && small == large;

  const double e = t <= 700 ? fast::exp(t == 0 ? 0 : -t) : 0;
  const double p_large = 1 / (1 + e), p_small = e * p_large;
  // Equal logits give exactly 1/2; no other row can.
  const double width = t == 0 ? 0 : 0x1p-50;
  functions::Exact large_exact{p_large * (1 - width), p_large * (1 + width), 1, 0};
  if (t > 0 && large_exact.hi >= 1) {
    large_exact.hi = 1;
    large_exact.below = 1;
  }
  if (t == kInf) large_exact = {1, 1, 1, 0};
  const functions::Judged a = judge_value(r.half, large, large_exact);
  // 1 - e^-A >= A - A^2/2 up to A = 1.
  constexpr double kShrink = 1 - 0x1p-20;
  double A = r.common < 0.5 ? r.common : 0.5;
  const double absolute = r.w_out * kShrink, before = r.w * kShrink;
  pass = pass && off_by(r, large, p_large) <= p_large * (A - 0.5 * A * A) * kShrink + before;
  bool decided = a.decided;
  out.ulp = a.error;
  out.elements = 1;
  out.correct = a.correct;

  if (t == kInf) {
    pass = pass && small == 0 && large == 1;
  } else {
    // Below e^-700 both ends are 0 in every unit of f16.
    const functions::Exact small_exact{t <= 700 ? p_small * (1 - width) : 0,
                                       t <= 700 ? p_small * (1 + width) : 0x1p-1000, 1, 0};
    const functions::Judged b = judge_value(r.half, small, small_exact);
    const double own = t == 0 ? 0 : r.eps_0 + r.slope * t * (1 - 0x1p-7);
    A = r.common + own;
    A = A < 0.5 ? A : 0.5;
    pass = pass && off_by(r, small, p_small) <= p_small * (A - 0.5 * A * A) * kShrink + before;
    decided = decided && b.decided;
    out.ulp = a.error > b.error ? a.error : b.error;
    out.elements = 2;
    out.correct += b.correct;
    // Coherence: ln(small / large) against -t, where it applies (outputs above 4 w). |ln(1 + x)| <= c where
    // |x| <= c - c^2.
    if (small > 4 * absolute && e > 0) {
      double c = (own + r.apart + absolute / small + absolute / large) * kShrink;
      c = c < 0.5 ? c : 0.5;
      const double x = small / (large * e) - 1;
      pass = pass && (x < 0 ? -x : x) <= c - c * c;
    }
    const double error = g0 + g1 - 1;
    pass = pass && (error < 0 ? -error : error) <= r.sum * kShrink + 2 * absolute;
  }
  out.verdict = pass && decided ? PairVerdict::pass : PairVerdict::open;
  return out;
}

/// How many rows and elements were of which kind.
struct PairCounts {
  std::int64_t rows = 0, outside = 0, elements = 0, correct = 0, special = 0;
};

/// Sums over rows.
struct PairStats : PairCounts {
  double ulp = -1;
  std::uint32_t worst = 0, worst_probs = 0;  // the row with the largest error

  ASSAY_HOST_DEVICE void take(const PairJudged& j, std::uint32_t logits, std::uint32_t probs) {
    ++rows;
    outside += j.verdict == PairVerdict::outside;
    if (j.verdict != PairVerdict::pass) return;
    special += j.elements == 0;
    elements += j.elements;
    correct += j.correct;
    if (j.ulp > ulp || (j.ulp == ulp && logits < worst)) {
      ulp = j.ulp;
      worst = logits;
      worst_probs = probs;
    }
  }
  ASSAY_HOST_DEVICE void merge(const PairStats& o) {
    add_members<PairCounts>(*this, o, &PairCounts::rows, &PairCounts::outside, &PairCounts::elements,
                            &PairCounts::correct, &PairCounts::special);
    if (o.ulp > ulp || (o.ulp == ulp && o.worst < worst)) {
      ulp = o.ulp;
      worst = o.worst;
      worst_probs = o.worst_probs;
    }
  }
};

/// A row that is left for the full check.
struct OpenPair {
  std::uint32_t logits, probs;
};

}  // namespace assay::pairs

#include "accuracy/record.hpp"

namespace assay {

/// Runs every pair of f16 logits as a two-element softmax through a variant: 2^32 rows on a GPU, a labelled
/// sample through the host executor. A cheap judge passes what certainly passes. Every other row gets the
/// full check of a row, up to MPFR.
struct PairResult : pairs::PairCounts {
  std::string key;
  Status status = Status::not_run;  // or pass, fail
  std::string reason;               // of fail and not_run
  std::int64_t stride = 1;          // 1: every pair
  std::int64_t full_check = 0;      // rows that the cheap judge left open
  std::int64_t by_mpfr = 0;         // of those, rows that needed the MPFR tier
  std::int64_t failed = 0, undecided = 0;
  double ulp = -1;    // largest error
  std::string worst;  // "(x0, x1) gives (g0, g1)"
  double seconds = 0;
};

/// The stride of a host sample: 4,295 rows, which take the executor seconds.
inline constexpr std::int64_t kHostPairStride = 1'000'003;

/// The f16 softmax variants of the registry on a backend.
std::vector<const Variant*> pair_variants(Backend backend);

/// Runs every stride-th pair through the variant and judges it.
PairResult measure_pairs(const Variant& variant, std::int64_t stride, int threads = 0);

/// The cheap judge's constants for a variant's claim.
pairs::PairRules pair_rules(const Variant& variant);

/// The full check of one row; open means that the row fails or stays undecided.
pairs::PairVerdict judge_pair_fully(const Variant& variant, pairs::OpenPair row);

/// The device's half. `full_check` gets the open rows in batches, and returns whether to go on. Throws
/// std::runtime_error with CUDA's message.
pairs::PairStats sweep_pairs_on_device(
    const Variant& variant, const pairs::PairRules& rules, std::int64_t stride,
    const std::function<bool(std::span<const pairs::OpenPair>)>& full_check);

/// Sweeps the division of a row by one divisor (kernels/building_blocks/row_divisor.cuh) over every pair of
/// f32 mantissas, on the GPU. Mantissas are enough, because scaling by powers of two is exact in the range
/// that the kernels use.
struct QuotientSweep {
  Status status = Status::not_run;           // or pass, fail
  std::string reason;                        // of not_run
  std::int64_t divisors = 0;                 // mantissas tried, each with all 2^23 numerators
  std::int64_t wrong = 0;                    // quotients that are not correctly rounded
  std::uint32_t divisor = 0, numerator = 0;  // mantissa bits of one of them
  double seconds = 0;
};

inline constexpr std::int64_t kMantissas = std::int64_t{1} << 23;

/// Every stride-th divisor on this process's GPU; not_run where there is none.
QuotientSweep sweep_quotients(std::int64_t stride);

/// The device's half. `ulp_off` is added to each reciprocal: a planted fault that the sweep must find. Throws
/// std::runtime_error with CUDA's message.
QuotientSweep sweep_quotients_on_device(std::int64_t stride, int ulp_off = 0);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Probes: inputs that are constructed to show what a kernel really does, whatever it claims. On an ordinary
// row an error of the exp or of the division hides inside a bound, which must allow for every rounding of a
// summation tree. On a probe's row the tree is exact, or the divisor is 1, or the claim leaves a single
// value. There a false claim is proved false. A probe that cannot see anything says why; it never guesses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/bounds/bounds.hpp"
#include "kernels/candidate.hpp"
#include "kernels/registry.hpp"
#include "reference/tensor.hpp"

namespace assay {

/// What one probe saw, and what that proves about the claim.
struct Observation {
  std::string probe;       // accumulator, sum_exp, numerator_exp, division, numerators, shift, height, ...
  std::string trait = {};  // what the kernel behaves like: "exp accurate"; empty if nothing was seen
  std::string saw = {};    // the evidence: input, output, error
  std::optional<Dtype> sum = {};  // the type in which the sum is kept, where it shows
  std::string fault = {};         // how its launch failed
  Ended ended = Ended::normally;
  FaultKind fault_kind = {};
  std::string skipped = {};  // why nothing was judged: "a 16-bit output hides the numerators"
  bool sharper = false;      // the trait is sharper than the claim
  std::int64_t judged = 0;   // consequences of the claim that were compared with the outputs
  std::int64_t refuted = 0;  // those that do not hold
  std::string proof = {};    // the first one that does not hold, and why the claim implies it

  void refute(std::string how) {
    if (++refuted == 1) proof = std::move(how);
  }
};

/// Runs every probe on the variant, in a fixed order. Never throws for a failing kernel.
std::vector<Observation> run_probes(const Variant& variant);

/// The longest row of any probe.
inline constexpr std::int64_t kProbeV = 131071;

}  // namespace assay

namespace assay::probe {

// What the probes share: rows built element by element, one launch of a candidate on them, and exponentials
// with their enclosure. Internal to the probes.

/// Elements of a row that are not -inf: (column, logit).
using Sparse = std::vector<std::pair<std::int64_t, double>>;
Tensor sparse_rows(Dtype dtype, std::int64_t V, const std::vector<Sparse>& rows);

/// A term this many nats below ln u is far less than half an ulp of 1, but thousands of them are not. In f32:
/// -18.6 to -24.6.
inline constexpr double kBelowHalfUlp[] = {2, 4, 6, 8};

/// The results of one launch. Values are by column; a top-k kernel fills the columns that it selected.
struct Output {
  std::string fault;  // empty, or why the fields below are empty
  Ended ended = Ended::normally;
  FaultKind fault_kind = {};
  std::string skipped;           // empty, or the declared limit that forbids such rows
  std::int64_t rows = 0, V = 0;  // of the launch
  int k = 0;
  std::vector<double> value;          // rows x V; NaN where nothing is known
  std::vector<std::int64_t> indices;  // rows x k
  std::vector<double> m, d;           // one per row
  /// A kernel that writes no sum shows it as 1 / (its largest output). Then ln d may be off by up to this.
  double slack = 0;

  double at(std::int64_t row, std::int64_t column) const {
    return value[static_cast<std::size_t>(row * V + column)];
  }
  double sum(std::int64_t row) const { return d[static_cast<std::size_t>(row)]; }
};
/// False if a launch has no results; the reason is then noted in `o`.
bool landed(Observation& o, const Output& got);
/// A top-k kernel is asked for `k` elements, or for as many as it can give. If the launch needs more rows
/// than `logits` has (`at_least`, or what the variant declares), the rows are repeated and only the first
/// copy is used.
Output launch_on(const Variant& variant, const Tensor& logits, int k, const LaunchOptions& options = {},
                 std::int64_t at_least = 0);

/// e^t for t in [-700, 700], enclosed by the fast oracle's exponential and its proved error.
Enclosure exp_of(double t);

/// 2^fl(t log2 e) in double: what __expf computes before the hardware's own rounding.
double fast_exp_ideal(double t);

/// `count` arguments of the dtype in (lo, hi), spread evenly. Each is the one of its neighbourhood where the
/// ideal __expf is farthest from e^t.
std::vector<double> slope_arguments(Dtype dtype, double lo, double hi, int count);

/// Two logits of the dtype whose difference t = low - high is exact in the arithmetic.
struct Pair {
  double high = 0, low = 0;
  double t() const { return low - high; }
};
/// How the sum of such a row is seen: as d itself, or as the largest output, which is 1 / d divided with one
/// rounding.
enum class Shows { sum, quotient };

/// Pairs for which every exp within `sharp` gives one visible value, and the ideal __expf gives another.
/// Those farthest from the rounding boundary come first. There may be fewer than `count`. `high` is 0 unless
/// any_high.
std::vector<Pair> separating_pairs(Dtype dtype, const Terms& sharp, bool any_high, int count, Shows shows);

/// The log-error of the exp at x in a row whose maximum is 0. There exp2(x log2e - fl(m log2e)) is 2 to the
/// power of one product with fl(log2e), which is off by 1.2241 u |x|.
double exp_error_below_zero(const Terms& terms, double x);

/// The values that fl(1 + E) can have, in the format of the arithmetic or a wider one, if the exp has the
/// error of `terms`.
Enclosure one_plus_exp(const Terms& terms, double t);
/// The values that fl(1 / (1 + E)) can have in f32. The sum may or may not have been rounded to the
/// arithmetic.
Enclosure one_over_one_plus_exp(const Terms& terms, double t);

/// The exact results of one row, from the fast tier.
RowTruth truth_of(const Tensor& logits, std::int64_t row);

/// The claim with one name changed.
template <class T>
Claim with(Claim claim, T Claim::*field, T value) {
  claim.*field = value;
  return claim;
}

}  // namespace assay::probe

namespace assay {

// One function per file of probes; run_probes calls them in this order.
void probe_sums(const Variant& v, std::vector<Observation>& out);      // accumulator, sum_exp, height, order
void probe_outputs(const Variant& v, std::vector<Observation>& out);   // numerators, division, shift
void probe_logs(const Variant& v, std::vector<Observation>& out);      // lse and log-softmax
void probe_policies(const Variant& v, std::vector<Observation>& out);  // repeats, special values, selection

// Probes that the functions above call; each is in its own file.

/// Two logits, 0 and t, in any place: one exp, one addition, d = fl(1 + E). E is the exp inside the sum,
/// whatever the outputs use. Each d has only 24 bits, but many t together show the error of the exp.
Observation probe_sum_exp(const Variant& v, const Terms& terms);
/// The same row with its maximum first, and with its maximum last; the divisor is 1 both times. If an output
/// is recomputed with the final maximum, it depends only on its logit, not on its place. If it was taken with
/// an older maximum and rescaled, it depends on the place.
Observation probe_numerators(const Variant& v, const Terms& terms);
/// Adds several c to the logits x, such that every x + c is exact: exp(fl(x - m)) then sees the same
/// arguments.
Observation probe_shift(const Variant& v, const Terms& terms);
/// A divisor beyond 2^126, where approximate divisions return 0. Only a kernel without a maximum meets it.
Observation probe_far_divisor(const Variant& v);

}  // namespace assay

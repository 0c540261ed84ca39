// What the probes share: rows built element by element, one launch of a candidate on them, and exponentials
// with their enclosure. Internal to the probes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/probes/probes.hpp"
#include "kernels/candidate.hpp"
#include "reference/tensor.hpp"

namespace assay::probe {

/// Elements of a row that are not -inf: (column, logit).
using Sparse = std::vector<std::pair<std::int64_t, double>>;
Tensor sparse_rows(Dtype dtype, std::int64_t V, const std::vector<Sparse>& rows);

/// Nats below ln u at which a term is far less than half an ulp of 1, and thousands of them are not: for f32
/// -18.6 to -24.6.
inline constexpr double kBelowHalfUlp[] = {2, 4, 6, 8};

/// What one launch left behind. Values are by column; top-k kernels fill the columns they selected.
struct Output {
  std::string fault;  // empty, or why there is nothing below
  Ended ended = Ended::normally;
  FaultKind fault_kind = FaultKind::none;
  std::string skipped;  // empty, or the declared limit that forbids such rows; then there is nothing below
  std::int64_t V = 0;
  int k = 0;
  std::vector<double> value;          // rows x V; NaN where nothing is known
  std::vector<std::int64_t> indices;  // rows x k
  std::vector<double> m, d;           // one per row
  /// A kernel that writes no sum shows it as one over its largest output: ln d is off by up to this.
  double slack = 0;

  double at(std::int64_t row, std::int64_t column) const {
    return value[static_cast<std::size_t>(row * V + column)];
  }
  double sum(std::int64_t row) const { return d[static_cast<std::size_t>(row)]; }
};
/// False where a launch has nothing to show, and why is noted.
bool landed(Observation& o, const Output& got);
/// Top-k kernels are asked for `k` elements, at most what they can. Where the launch must have more rows than there
/// are, `at_least` so many or what the variant declares, the rows follow again and only the first are looked at.
Output launch_on(const Variant& variant, const Tensor& logits, int k, const LaunchOptions& options = {},
                 std::int64_t at_least = 0);

/// e^t for t in [-700, 700], enclosed by the fast oracle's exponential and its proved error.
Enclosure exp_of(double t);

/// 2^fl(t log2 e), what __expf forms before the hardware's own rounding, in double.
double fast_exp_ideal(double t);

/// Arguments in (lo, hi) that the dtype holds, spread evenly, each the one of its neighbourhood where the
/// ideal __expf is farthest from e^t.
std::vector<double> slope_arguments(Dtype dtype, double lo, double hi, int count);

/// Two logits of the dtype whose difference t = low - high is exact in the arithmetic.
struct Pair {
  double high = 0, low = 0;
  double t() const { return low - high; }
};
/// How the sum of such a row shows: as d itself, or as the largest output, 1 / d divided with one rounding.
enum class Shows { sum, quotient };

/// Pairs for which what shows is one value for every exp within `sharp`, and another for the ideal __expf:
/// those farthest from the rounding boundary first. May be fewer than `count`. `high` is 0 unless any_high.
std::vector<Pair> separating_pairs(Dtype dtype, const Terms& sharp, bool any_high, int count, Shows shows);

/// Log-error of the exp at x in a row whose maximum is 0: there exp2(x log2e - fl(m log2e)) is 2 to one
/// product with fl(log2e), off by 1.2241 u |x|.
double exp_error_below_zero(const Terms& terms, double x);

/// What fl(1 + E) can be, in the format of the arithmetic or a wider one, for an exp with the error of
/// `terms`.
Enclosure one_plus_exp(const Terms& terms, double t);
/// What fl(1 / (1 + E)) in f32 can be, where the sum may have been rounded to the arithmetic or not.
Enclosure one_over_one_plus_exp(const Terms& terms, double t);

/// Truth of one row, by the fast tier.
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

// Probes that these call from files of their own.

/// Two logits, 0 and t, wherever they stand: one exp, one addition, d = fl(1 + E). E is the exp inside the
/// sum, whatever the outputs use; with many t its error shows although each d has only 24 bits.
Observation probe_sum_exp(const Variant& v, const Terms& terms);
/// The same row with its maximum first and last; the divisor is 1 either way. An output that is recomputed
/// with the final maximum is one function of its logit, wherever it stands; one that was taken with an older
/// maximum and rescaled is not.
Observation probe_numerators(const Variant& v, const Terms& terms);
/// x + c for several c, every x + c exact: exp(fl(x - m)) sees the same arguments.
Observation probe_shift(const Variant& v, const Terms& terms);
/// Only a kernel without a maximum meets a divisor beyond 2^126, where approximate divisions return 0.
Observation probe_far_divisor(const Variant& v);

}  // namespace assay

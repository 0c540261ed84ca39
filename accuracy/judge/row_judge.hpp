// SPDX-License-Identifier: Apache-2.0
// Judges one row of outputs against its exact results: the element bound, the checks on a whole row, special
// values by policy, the normalizer, and top-k. It reads outputs as they are stored. It knows claims, but no
// kernels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/checks.hpp"
#include "accuracy/judge/error_profile.hpp"
#include "accuracy/record.hpp"
#include "accuracy/written_rows.hpp"
#include "reference/formats.hpp"
#include "reference/problem.hpp"

namespace assay {

// The resolution: how small an error the judgement would have refused. A pass means no more than that,
// because outputs that are all off by less pass as well. Every record states it. A pass whose resolution is
// too coarse does not count as a pass.

/// The resolution of the worst row of a record. Errors are relative to the exact value. For logarithms they
/// are absolute, which is a relative error of the logarithm's argument.
class Resolution {
 public:
  /// One output with exact value p > 0. It may be off by `room` before its last rounding to a narrower
  /// format. A right output that is multiplied by 1 + `refused` is certainly refused.
  void element(double p, double room, double refused) {
    mass_ += p;
    room_ += room;
    sum_ = std::min(sum_, refused);
  }
  /// One logarithm with this weight. It may be off by `room`; a pass has meaning while `room` is at most
  /// `limit`. A right one that is off by `refused` more is certainly refused.
  void logarithm(double weight, double room, double limit, double refused) {
    mass_ += weight;
    room_ += weight * room;
    limit_ += weight * limit;
    sum_ = std::min(sum_, refused);
  }
  /// If all outputs of the row, or its sum, are off by this same relative amount, they are certainly refused.
  void sum(double refused) { sum_ = std::min(sum_, refused); }
  /// Ends the row. `limit`: the largest room of a typical output that still tells right from wrong.
  void row(double limit);

  bool judged() const { return rows_ > 0; }
  /// The relative error of a typical output that can stay unseen: the mean, weighted by the size of the
  /// outputs.
  double of_element() const { return element_; }
  /// The smallest relative error common to a whole row that is certainly refused.
  double of_sum() const { return common_; }
  /// The room of the worst row, divided by its limit. Above 1 a pass tells too little; infinite if a bound
  /// is.
  double over_limit() const { return over_limit_; }

 private:
  // Of the current row.
  double mass_ = 0, room_ = 0, limit_ = 0, sum_ = std::numeric_limits<double>::infinity();
  // Of all rows so far.
  double element_ = 0, common_ = 0, over_limit_ = 0;
  std::int64_t rows_ = 0;
};

/// The error from which a right output of exact size `size` is certainly refused, if it may be off by `room`.
/// For narrower outputs the error must go past the last number that rounds to the largest that passes, or to
/// the smallest: whichever is further.
double certainly_refused(const Terms& terms, Dtype out, double size, double room);

/// The largest error of a typical output that may stay unseen in a pass: 1e-3 for f32 outputs. For narrower
/// outputs two units of roundoff, the smallest value that two ulp can have.
double resolution_limit(Dtype out);

/// What is known about a row before any output is seen. There is one per row; all keys of a dtype share it.
struct RowCase {
  const RowTruth* truth = nullptr;
  std::int64_t row = 0;  // its number in what was launched
  const JudgedPart* part = nullptr;

  /// What is said for column j.
  std::int64_t column(std::int64_t j) const { return part ? part->column(j) : j; }
};

/// The kernel's outputs of one row, decoded. Spans are empty if the op does not write them.
struct RowOutput {
  std::span<const double> values;         // V probabilities, or k values
  std::span<const std::uint64_t> bits;    // the same, as stored
  std::span<const std::int64_t> indices;  // k
  bool has_normalizer = false;
  double m = 0, d = 0;
};

/// Statistics over the judged elements of a record.
struct ErrorStatistics : ElementErrors {
  Resolution resolution;
  std::int64_t open = 0;  // elements of which the enclosures do not tell whether they are in the set
  WorstElement worst;     // largest ulp error, or the first failing element
  bool worst_failed = false;

  /// Keeps `e` if it is the worst element so far. The first element that failed stays.
  void take_worst(bool ok, const WorstElement& e) {
    if (worst_failed || (ok && worst.row >= 0 && e.ulp_error <= worst.ulp_error)) return;
    worst = e;
    worst_failed = !ok;
  }
};

struct RowContext {
  const Claim& claim;
  const Terms& terms;
  Dtype rounded;  // the format that the truth is rounded to
  Dtype out;      // the format of the outputs
  const RowCase& row;
  const RowBounds* bounds = nullptr;  // null for special rows
  const RoundedShift* shift = nullptr;
  Tally& tally;
  ErrorStatistics& statistics;
  ErrorProfile* profile = nullptr;
};

/// Judges the softmax outputs of a finite or masked row.
void judge_probabilities(const RowContext& c, const RowOutput& got);
/// Judges what the outputs of one row say of each other, where the error of the sum cancels: coherence, order
/// and argmax.
void judge_side_by_side(const RowContext& c, const RowOutput& got);
/// Judges only the sum of the softmax outputs.
void judge_row_sum(const RowContext& c, std::span<const double> values);
/// Judges, by policy, the softmax outputs of a row that is all -inf or holds +inf or NaN.
void judge_special(const RowContext& c, const RowOutput& got);
/// Judges log-softmax or lse of any row; of op log_softmax_topk the values, if the selection is right.
void judge_logs(const RowContext& c, Op op, const RowOutput& got);
/// Judges (m, d) of any row.
void judge_normalizer(const RowContext& c, const RowOutput& got);
/// Judges the indices and the order of top-k on any row, and the values of the ops that select. `selected`:
/// for op topk_softmax, the row of the selected elements, with its own bounds.
void judge_topk(const RowContext& c, Op op, const RowOutput& got, const RowContext* selected = nullptr);

/// Judges op min_p or top_p on any row: `c` is the whole row.
void judge_kept(const RowContext& c, Op op, double threshold, const RowOutput& got);

/// The outputs in words: "NaN x1024", "0 x3, NaN x1". For rows that are not judged element by element.
std::string describe_values(std::span<const double> values);

/// Judges element j of a finite or masked row against its bound; softmax and top-k share it. False on
/// failure.
bool judge_element(const RowContext& c, std::int64_t j, double g, std::uint64_t bits);

}  // namespace assay

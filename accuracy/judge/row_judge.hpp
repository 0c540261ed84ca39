// Judges one row of outputs against its truth: the element bound, the checks that share a row, special
// values by policy, the normalizer, and top-k. Reads outputs as stored; knows claims, not kernels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/checks.hpp"
#include "accuracy/judge/resolution.hpp"
#include "accuracy/record.hpp"
#include "reference/problem.hpp"

namespace assay {

/// What is known of the row before any output is seen; one per row, shared by all keys of a dtype.
struct RowCase {
  const RowTruth* truth = nullptr;
  std::int64_t row = 0;  // its number in the case
};

/// What the kernel left behind for one row, decoded. Spans are empty where the op does not write them.
struct RowOutput {
  std::span<const double> values;         // V probabilities, or k values
  std::span<const std::uint64_t> bits;    // the same, as stored
  std::span<const std::int64_t> indices;  // k
  bool has_normalizer = false;
  double m = 0, d = 0;
};

/// Statistics over judged elements of a record.
struct ErrorStatistics {
  std::vector<float> ulp;  // upper end of each element's ulp error
  double sum_ulp = 0;
  std::int64_t correctly_rounded = 0;
  std::int64_t weak = 0;  // elements with A >= ln 2
  Resolution resolution;
  WorstElement worst;  // largest ulp error, or the first failing element
  bool worst_failed = false;
};

/// Called once per judged element, for error profiles.
struct ElementObserver {
  virtual ~ElementObserver() = default;
  virtual void element(double distance, double ulp_error, double signed_ulp, double bound_ulp) = 0;
  /// The case is judged again from the start, by a finer oracle: forget what was seen.
  virtual void restart() = 0;
  /// The case is judged: no more elements come.
  virtual void finish() {}
};

struct RowContext {
  const Claim& claim;
  const Terms& terms;
  Dtype rounded;  // what the truth's roundings are of
  Dtype out;      // what the outputs are stored in
  const RowCase& row;
  const RowBounds* bounds = nullptr;  // null for special rows
  const RoundedShift* shift = nullptr;
  Tally& tally;
  ErrorStatistics& statistics;
  ElementObserver* observer = nullptr;
};

/// Softmax outputs of a finite or masked row.
void judge_probabilities(const RowContext& c, const RowOutput& got);
/// Their sum alone.
void judge_row_sum(const RowContext& c, std::span<const double> values);
/// Softmax outputs of an all -inf, +inf or NaN row, by policy.
void judge_special(const RowContext& c, const RowOutput& got);
/// Log-softmax or lse of any row.
void judge_logs(const RowContext& c, Op op, const RowOutput& got);
/// (m, d) of any row.
void judge_normalizer(const RowContext& c, const RowOutput& got);
/// Indices and order of top-k on any row; values of op topk; probabilities of op softmax_topk.
void judge_topk(const RowContext& c, Op op, const RowOutput& got);

/// "NaN x1024", "0 x3, NaN x1": what came back, in words, for rows that are not judged element by element.
std::string describe_values(std::span<const double> values);

/// Element j of a finite or masked row against its bound; shared by softmax and top-k. False on failure.
bool judge_element(const RowContext& c, std::int64_t j, double g, std::uint64_t bits);

}  // namespace assay

// What check_case knows while it judges one case: the tally of its checks, the statistics, and what came
// back where nothing could be judged.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "accuracy/case/case.hpp"
#include "accuracy/case/guarded.hpp"
#include "accuracy/judge/row_judge.hpp"

namespace assay {

class Judgement {
 public:
  /// `max_ulp`: the author's own promise, judged beside the bounds. `limit`: a sum sharper than claimed.
  Judgement(const Variant& variant, const Case& c, Op op, ElementObserver* observer,
            std::optional<double> max_ulp = {}, const SumLimit& limit = {});

  /// Judges all rows of one launch. Statistics are only gathered from the first.
  void judge_rows(const WrittenRows& run, bool first);

  /// No element may hold the poison of its launch: arithmetic makes neither pattern. At V = 0 an op other
  /// than top-k must leave its poison alone.
  void require_written(const GuardedLaunch& a, const GuardedLaunch& b);

  /// Bitwise equality of the rows two launches have in common, NaN by class; otherwise says where the first
  /// difference is.
  bool same_outputs(const GuardedLaunch& a, const GuardedLaunch& b, std::string* where) const;

  Tally tally;
  /// Rows with a check that failed, and rows that lie outside the domain.
  std::set<std::int64_t> wrong_rows, unjudged_rows;
  ErrorStatistics statistics;
  std::int64_t rows_judged = 0, rows_outside = 0;
  std::string outside_reason;  // of the first row outside the declared domain
  std::string returned;        // by the first row that is special or outside the domain
  // crashed, hung or lost: how the first launch that did so ended, what kind of fault it was, and why
  Ended ended = Ended::normally;
  FaultKind kind = FaultKind::none;
  std::string fault;
  std::optional<double> lowest_maximum, highest_maximum;  // of the judged rows

  /// Additions on the longest path, as this judgement takes them.
  double height() const { return terms_.h; }

 private:
  void judge_one(const WrittenRows& run, std::int64_t row, bool first);
  /// Of a causal row: what stands behind the diagonal, where something is promised of it.
  void judge_behind_diagonal(std::int64_t row, const RowTruth& t, std::size_t own);
  /// How many of a row's outputs something is promised of.
  std::int64_t promised_columns(const WrittenRows& run, std::int64_t row) const;
  /// The logits as they are stored, all columns.
  std::vector<double> stored_row(std::int64_t row) const;
  void judge_backward_row(std::int64_t row, const RowOutput& got, bool first);
  void judge_promise(const RowCase& row);
  void note_returned(std::int64_t row, const RowOutput& got);

  const Variant& variant_;
  const Case& case_;
  Op op_;
  ElementObserver* observer_;
  std::optional<double> max_ulp_;
  Terms terms_;
  std::size_t promised_ = 0;  // elements held against max_ulp so far
  std::vector<double> values_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::int64_t> indices_;
};

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The state of check_case while it judges one case: the tally of its checks, the statistics, and what was
// returned if nothing could be judged.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "accuracy/case/case.hpp"
#include "accuracy/case/guarded.hpp"
#include "accuracy/judge/row_judge.hpp"

namespace assay {

class Judgement {
 public:
  /// `max_ulp`: the author's own promise, judged in addition to the bounds. `limit`: a stricter limit on the
  /// sum than the claim has.
  Judgement(const Variant& variant, const Case& c, Op op, ErrorProfile* profile,
            std::optional<double> max_ulp = {}, const SumLimit& limit = {});

  /// Judges all rows of one launch. Statistics come only from the first launch.
  void judge_rows(const WrittenRows& run, bool first);

  /// Judges the first launch's rows in this order, until `enough()` holds after a row, and returns that row;
  /// -1 if it never does.
  std::int64_t judge_until(const WrittenRows& run, std::span<const std::int64_t> order,
                           const std::function<bool()>& enough);

  /// No element may still hold the poison of its launch; arithmetic produces neither of the two patterns. At
  /// row length V = 0, an op other than top-k must leave its poison unchanged.
  void require_written(const GuardedLaunch& a, const GuardedLaunch& b);

  /// Compares, bit by bit, the rows that two launches have in common; any NaN equals any NaN. `where` says
  /// where the first difference is.
  bool same_outputs(const GuardedLaunch& a, const GuardedLaunch& b, std::string* where) const;

  Tally tally;
  /// Rows with a failed check, and rows outside the domain.
  std::set<std::int64_t> wrong_rows, unjudged_rows;
  ErrorStatistics statistics;
  std::int64_t rows_judged = 0, rows_outside = 0;
  std::string outside_reason;  // why the first row is outside the declared domain
  std::string returned;        // outputs of the first row that is special or outside the domain
  // How the first launch that was crashed, hung or lost ended, what kind of fault it was, and why.
  Ended ended = Ended::normally;
  FaultKind kind = {};
  std::string fault;
  std::optional<double> lowest_maximum, highest_maximum;  // of the judged rows

  /// The additions on the longest path that this judgement assumes.
  double height() const { return terms_.h; }

 private:
  void judge_one(const WrittenRows& run, std::int64_t row, bool first);
  /// Judges the columns behind the diagonal of a causal row, if the claim promises anything about them.
  void judge_behind_diagonal(std::int64_t row, const RowTruth& t, std::size_t own);
  /// For how many of a row's outputs the claim promises anything.
  std::int64_t promised_columns(const WrittenRows& run, std::int64_t row) const;
  /// All logits of the row, as they are stored.
  std::vector<double> stored_row(std::int64_t row) const;
  void judge_backward_row(std::int64_t row, const RowOutput& got, bool first);
  void judge_promise(const RowCase& row);
  void note_returned(std::int64_t row, const RowOutput& got);

  const Variant& variant_;
  const Case& case_;
  Op op_;
  ErrorProfile* profile_;
  std::optional<double> max_ulp_;
  Terms terms_;
  std::size_t promised_ = 0;  // elements compared with max_ulp so far
  std::vector<double> values_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::int64_t> indices_;
};

}  // namespace assay

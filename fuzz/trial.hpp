// SPDX-License-Identifier: Apache-2.0
// One trial of a candidate: explicit logits and how they are launched. A genome becomes a trial, shrinking
// makes a trial smaller, and a case file holds one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "accuracy/verdict/checker.hpp"
#include "fuzz/genome.hpp"

namespace assay::fuzz {

struct Trial {
  Tensor logits;
  Pick pick = {};
  std::int64_t pitch_gap = 0;  // gap between rows, in elements
  std::int64_t first = 0;      // first row's distance from an aligned address, in elements
  std::int64_t max_blocks = 0;
  std::uint64_t schedule = 0;
  std::uint64_t seed = 0;  // of the genome it came from; goes into the record
};

Trial trial_of(const Genome& g, const Variant& variant, Op op);

/// Runs and judges the trial by check_case, as every other case. The first launch has the trial's layout.
/// `nearest`: if it fails, look for the class that it would pass.
Record check(const Variant& variant, Op op, const Trial& trial, bool nearest);

/// How a trial failed. Shrinking keeps it, and it tells two findings apart.
struct Signature {
  std::string check;  // the first failed check in the order of Check; or "crashed", "hung"
  std::string rows;   // the most special kind of row in the logits: finite, masked, nan, ...
  bool operator==(const Signature&) const = default;
  std::string text() const { return check + " on " + rows + " rows"; }
};
/// Its `check` is empty if the record is no failure.
Signature signature_of(const Record& record, const Tensor& logits);
/// True if the record fails as `signature` says; other checks may fail too.
bool fails_like(const Record& record, const Tensor& logits, const Signature& signature);

/// The kind of one row, from its bits; and the most special kind of a tensor's rows: empty, finite, masked,
/// all_neg_inf, pos_inf or nan.
RowKind kind_of_row(const Tensor& logits, std::int64_t row);
const char* kind_of(const Tensor& logits);
const char* name(RowKind kind);

/// Tries one genome on one candidate: generates, launches, judges. Softmax rows that the fast judge supports
/// are launched once and judged by it. check_case judges the rest: what the fast judge does not pass or does
/// not support, and every trial that the search wants to know in full.
struct Evaluation {
  std::array<double, kChecks> share;  // largest error / bound of each check; negative if none was compared
  std::uint64_t dispatch = 0;         // LaunchOutcome::dispatch
  bool far = false;                   // some output is subnormal or 0: there any kernel nears its bound
  bool far_sum = false;               // some exp is: (m, d) depend on nothing else
  std::int64_t elements = 0;          // number of elements judged
  std::optional<Record> record;       // set if check_case judged
  Signature signature;                // of a failure; otherwise its `check` is empty
};

class GenomeEvaluator {
 public:
  GenomeEvaluator(const Variant& variant, Op op);

  /// `full`: always judge by check_case. `wanted`: if the share of the element check is above it, check_case
  /// judges too.
  Evaluation operator()(const Genome& g, bool full, double wanted) const;
  /// Says `far` exactly, and `far_sum`, of one row of a genome: the evaluation looks at its width alone.
  void say_far(const Genome& g, Evaluation& e) const;
  const Variant& variant() const { return variant_; }

 private:
  bool look(const Trial& trial, Evaluation& e) const;

  Variant variant_;
  Op op_;
  bool fast_;
};

/// Explains a trial: the exact row, what each stage of the algorithm should give, what the kernel gave, and
/// the bound with its named terms. `record` is the result of check() on it. Launches once more to see the
/// outputs.
std::string explain(const Variant& variant, Op op, const Trial& trial, const Record& record);

}  // namespace assay::fuzz

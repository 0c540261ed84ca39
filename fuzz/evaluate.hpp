// SPDX-License-Identifier: Apache-2.0
// Tries one genome on one candidate: generates, launches, judges. Softmax rows that the fast judge supports
// are launched once and judged by it. check_case judges the rest: what the fast judge does not pass or does
// not support, and every trial that the search wants to know in full.
#pragma once

#include <array>
#include <optional>

#include "fuzz/trial.hpp"

namespace assay::fuzz {

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

}  // namespace assay::fuzz

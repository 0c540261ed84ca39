// SPDX-License-Identifier: Apache-2.0
// The result of one function's sweep as data, measured now or published earlier. The table shows it,
// functions.json holds it, and it is judged against the declared error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/functions/function_sweep.hpp"
#include "accuracy/record.hpp"

namespace assay {

struct FunctionResult : functions::Counts {
  /// A largest value and where it occurs: the argument ("-0x1.bcc73p+3", or "a / b") and the function's
  /// result there.
  struct Largest {
    double value = -1;  // -1: there was nothing to measure
    std::string argument, got;
    bool measured() const { return value >= 0; }
  };
  /// Something that must not occur: how often it did, and where first.
  struct Violation {
    std::int64_t count = 0;
    std::string argument, got;
  };
  std::string name, dtype, backend;
  Status status = Status::not_run;  // or pass, fail
  std::string reason;               // of fail and not_run
  std::int64_t stride = 1;          // 1: exhaustive; else every stride-th argument
  std::int64_t decided_by_mpfr = 0;
  Largest ulp;             // normal results
  Largest tiny;            // subnormal results, in smallest subnormals
  Largest relative;        // normal results, in u
  Largest absolute;        // on [1/2, 2], where only an absolute error is documented
  Largest slope;           // slope needed beyond the declared constant, ulp per unit of |argument|
  double mean_signed = 0;  // ulp; for exps, over arguments in [-104, -1/2]
  std::int64_t mean_count = 0;
  Violation descent, not_one, not_in_unit, special_wrong, nan;
  double seconds = 0;

  std::string id() const { return name + "/" + dtype + "@" + backend; }
  double correct_share() const {
    return judged > 0 ? static_cast<double>(correct) / static_cast<double>(judged) : 0;
  }
};

/// Sweeps a function and judges it. A function that cannot run here is not_run.
FunctionResult measure(const functions::Function& f, const functions::SweepOptions& options);

/// How a result contradicts what is declared: one sentence for each contradiction. NaN contradicts.
std::vector<std::string> contradictions(const DeclaredError& declared, const FunctionResult& r);

/// The table row of a result; null if there is none (a result from another source).
const DeclaredError* find_declared(const FunctionResult& r);

}  // namespace assay

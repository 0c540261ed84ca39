// SPDX-License-Identifier: Apache-2.0
// Shrinking: from a failing trial to the smallest one found that still fails the same way. Smaller means a
// plain layout, one row, few columns, few distinct values, round numbers. It works on the logits themselves,
// by delta debugging, with a limit on the launches.
#pragma once

#include "fuzz/trial.hpp"

namespace assay::fuzz {

struct ShrinkOptions {
  int launches = 800;   // largest number of trials; check_case launches each twice
  double seconds = 20;  // time limit, even if few launches were made
};

struct Shrunk {
  Trial trial;
  Record record;     // of the shrunk trial, with the nearest class it would pass
  int launches = 0;  // number used
};

/// If `trial` does not fail as `signature` says, it is returned unchanged. Every step kept fails that way
/// too.
Shrunk shrink(const Variant& variant, Op op, const Trial& trial, const Signature& signature,
              const ShrinkOptions& options = {});

/// Number of distinct bit patterns in a tensor.
std::int64_t distinct_values(const Tensor& t);

}  // namespace assay::fuzz

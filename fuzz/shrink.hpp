// Shrinking: from a trial that fails to the smallest one found that still fails the same way: a plain layout,
// one row, few columns, few distinct values, round numbers. It works on the logits themselves, by delta
// debugging, within a number of launches.
#pragma once

#include "fuzz/trial.hpp"

namespace assay::fuzz {

struct ShrinkOptions {
  int launches = 800;   // trials, each launched twice by check_case
  double seconds = 20;  // however few launches that were
};

struct Shrunk {
  Trial trial;
  Record record;     // of the trial, with the nearest class
  int launches = 0;  // spent
};

/// `trial` fails as `signature` says, or comes back as it is. Everything kept fails that way too.
Shrunk shrink(const Variant& variant, Op op, const Trial& trial, const Signature& signature,
              const ShrinkOptions& options = {});

/// Distinct bit patterns in a tensor.
std::int64_t distinct_values(const Tensor& t);

}  // namespace assay::fuzz

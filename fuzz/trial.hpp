// SPDX-License-Identifier: Apache-2.0
// One trial of a candidate: explicit logits and how they are launched. A genome becomes a trial, shrinking
// makes a trial smaller, and a case file holds one.
#pragma once

#include <cstdint>
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

}  // namespace assay::fuzz

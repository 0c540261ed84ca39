// One trial of a candidate: explicit logits and how they are launched. What a genome becomes, what shrinking
// makes smaller and what a case file holds.
#pragma once

#include <cstdint>
#include <string>

#include "accuracy/verdict/checker.hpp"
#include "fuzz/genome.hpp"

namespace assay::fuzz {

struct Trial {
  Tensor logits;
  int k = 0;                   // of top-k; else 0
  std::int64_t pitch_gap = 0;  // elements between rows
  std::int64_t first = 0;      // elements from an aligned address to the first row
  std::int64_t max_blocks = 0;
  std::uint64_t schedule = 0;
  std::uint64_t seed = 0;  // of the genome it came from, for the record
};

Trial trial_of(const Genome& g, const Variant& variant, Op op);

/// Runs and judges it as every other case: check_case, with the trial's layout in the first launch.
/// `nearest`: look for the class that a failing case would pass.
Record check(const Variant& variant, Op op, const Trial& trial, bool nearest);

/// How a trial failed: what shrinking keeps, and what tells two findings apart.
struct Signature {
  std::string check;  // the first failed one in the order of Check; "crashed", "hung"
  std::string rows;   // the most special kind of row in the logits: finite, masked, nan, ...
  bool operator==(const Signature&) const = default;
  std::string text() const { return check + " on " + rows + " rows"; }
};
/// Empty `check` where the record is no failure.
Signature signature_of(const Record& record, const Tensor& logits);
/// Whether the record fails as `signature` says, perhaps in other checks too.
bool fails_like(const Record& record, const Tensor& logits, const Signature& signature);

/// The kind of one row, from its bits; and of the most special row of a tensor: empty, finite, masked,
/// all_neg_inf, pos_inf, nan.
RowKind kind_of_row(const Tensor& logits, std::int64_t row);
const char* kind_of(const Tensor& logits);
const char* name(RowKind kind);

}  // namespace assay::fuzz

// SPDX-License-Identifier: Apache-2.0
// The logits of a sweep: a tile of distinct rows, which a rig repeats to any number of rows, and the truth of
// a few of them for the usual checker. Both are kept for the next key of the same dtype and V.
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "accuracy/case/case.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {

class SweepInputs {
 public:
  /// Throws InputError for an unknown family.
  SweepInputs(const std::string& family, std::uint64_t seed);
  const Family& family() const { return family_; }
  std::uint64_t seed() const { return seed_; }

  /// How many of `rows` are distinct: at most 2^22 elements, at least one row. 16 or more are a multiple of
  /// 16, so that a row and its repetition lie at addresses of the same alignment.
  std::int64_t distinct_rows(std::int64_t V, std::int64_t rows) const;
  /// At least distinct_rows rows, valid until the next call. Throws InputError if the family has no rows of
  /// this V.
  const Tensor& tile(Dtype dtype, std::int64_t V, std::int64_t rows);
  /// The tile's first rows (at least two, if `rows` is at least two) and their truth.
  std::shared_ptr<const Case> sample(Dtype dtype, std::int64_t V, std::int64_t rows);

 private:
  const Family& family_;
  std::uint64_t seed_;
  std::list<std::unique_ptr<Tensor>> tiles_;        // most recently used first
  std::list<std::shared_ptr<const Case>> samples_;  // most recently used first
};

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// What a sweep can time: every registered key, planted faults by name, and peers in this process.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy/case/case.hpp"
#include "kernels/registry.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {

struct Subject {
  Variant variant;
  std::string role = "variant";  // "variant" or "peer"
  std::string missing = {};      // why a peer cannot be called here
};

/// The registry's keys of every backend, then the peers, whether or not they can run here.
const std::vector<Subject>& sweep_subjects();

/// Finds by key, also planted faults ("mutant.no_rescale/f32@host"); null if there is none.
const Subject* find_subject(std::string_view key);

/// The logits of a sweep: a tile of distinct rows, which a rig repeats to any number of rows, and the truth
/// of a few of them for the usual checker. Both are kept for the next key of the same dtype and V.
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

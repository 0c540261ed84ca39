// SPDX-License-Identifier: Apache-2.0
// The outputs of a problem, wherever they lie: in the buffers of a launch, or in a file that another program
// wrote. A judgement reads outputs only through this class.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/problem.hpp"

namespace assay {

/// The judged rows and columns of a launch that is too large to be judged whole. What is said and recorded of
/// a row or a column has its number in the launch.
struct JudgedPart {
  std::vector<std::int64_t> rows, columns;  // empty: all, under their own numbers

  std::int64_t row(std::int64_t i) const { return in_launch(rows, i); }
  std::int64_t column(std::int64_t j) const { return in_launch(columns, j); }

 private:
  static std::int64_t in_launch(const std::vector<std::int64_t>& all, std::int64_t i) {
    return i >= 0 && i < static_cast<std::int64_t>(all.size()) ? all[static_cast<std::size_t>(i)] : i;
  }
};

class WrittenRows {
 public:
  virtual ~WrittenRows() = default;
  virtual const Problem& problem() const = 0;
  /// The bits of value j of a row: a probability, a log-probability, the lse, or a top-k value.
  virtual std::uint64_t value_bits(std::int64_t row, std::int64_t j) const = 0;
  /// False if no values were asked for; then only indices are judged.
  virtual bool has_values() const = 0;
  virtual bool has_indices() const = 0;
  virtual std::int64_t index(std::int64_t row, std::int64_t r) const = 0;
  virtual bool has_normalizer() const = 0;
  virtual float m(std::int64_t row) const = 0;
  virtual float d(std::int64_t row) const = 0;
};

}  // namespace assay

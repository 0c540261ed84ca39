// What was written for a problem, wherever it lies: a launch's buffers, or a file that somebody else's
// program made. A judgement looks at outputs through this and nothing else.
#pragma once

#include <cstdint>

#include "reference/problem.hpp"

namespace assay {

class WrittenRows {
 public:
  virtual ~WrittenRows() = default;
  virtual const Problem& problem() const = 0;
  /// Bits of value j of a row: a probability, a log-probability, the lse, or a top-k value.
  virtual std::uint64_t value_bits(std::int64_t row, std::int64_t j) const = 0;
  /// False where values were not asked for: indices alone are judged.
  virtual bool has_values() const = 0;
  virtual bool has_indices() const = 0;
  virtual std::int64_t index(std::int64_t row, std::int64_t r) const = 0;
  virtual bool has_normalizer() const = 0;
  virtual float m(std::int64_t row) const = 0;
  virtual float d(std::int64_t row) const = 0;
};

}  // namespace assay

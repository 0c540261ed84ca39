// One launch of a variant on rows of one length, and what it wrote: the material that properties compare.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/candidate.hpp"
#include "properties/float_generators.hpp"
#include "reference/tensor.hpp"

namespace assay {

struct RunOptions {
  int k = 0;             // of ops that select
  std::int64_t gap = 0;  // elements between rows, on both sides
  LaunchOptions launch = {};
};

struct Answer {
  Problem problem;
  std::vector<std::uint64_t> bits;    // rows x out_columns
  std::vector<std::int64_t> indices;  // rows x k
  std::vector<float> m, d;            // rows; empty where the op has none

  std::uint64_t bits_at(std::int64_t row, std::int64_t j) const {
    return bits[static_cast<std::size_t>(row * problem.out_columns() + j)];
  }
  double value(std::int64_t row, std::int64_t j) const { return decode(problem.out, bits_at(row, j)); }
  std::int64_t index(std::int64_t row, std::int64_t r) const {
    return indices[static_cast<std::size_t>(row * problem.k + r)];
  }
};

/// Outputs start as NaN, indices as nonsense. Throws std::runtime_error with what the executor or CUDA said.
Answer run(const Variant& variant, Op op, const Tensor& logits, const RunOptions& options = {});

/// Everything two launches wrote for these rows, bit for bit, NaN by class.
bool same_row(const Answer& a, std::int64_t row_of_a, const Answer& b, std::int64_t row_of_b);

/// Rows of one length and format.
Tensor tensor_of(const std::vector<Row>& rows);

}  // namespace assay

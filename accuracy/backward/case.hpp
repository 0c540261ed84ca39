// SPDX-License-Identifier: Apache-2.0
// Rows of a backward pass: y, the softmax of logits; dy, the gradient that belongs to it; and the exact dx =
// y (dy - sum y dy).
#pragma once

#include <cstdint>
#include <vector>

#include "reference/oracle/oracle.hpp"
#include "reference/tensor.hpp"

namespace assay {

struct BackwardInputs {
  Tensor y, dy;
};

/// y is the correctly rounded softmax of every row of logits; NaN where its policy says NaN. dy is drawn from
/// the bits of the row, so that equal rows have equal gradients wherever they stand. Most dy are N(0, 1).
/// Others are one constant (dx vanishes by cancellation), mix huge and tiny values, or are 0 except in one
/// place. Some y are one-hot.
BackwardInputs backward_inputs(const Tensor& logits, const std::vector<RowTruth>& truth);

/// One row with its exact results; every product of them is exact in double.
struct BackwardRow {
  bool nan = false;      // y or dy holds a NaN
  bool special = false;  // y or dy holds a NaN or an infinity; then only y and dy are filled
  std::vector<double> y, dy;
  Enclosure s;               // sum y dy
  double absolute = 0;       // at least sum |y dy|
  double largest = 0;        // largest |dy|
  std::vector<Enclosure> x;  // dx
};
BackwardRow backward_row(const Tensor& y, const Tensor& dy, std::int64_t row);

}  // namespace assay

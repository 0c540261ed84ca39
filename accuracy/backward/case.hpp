// Rows of a backward pass: y, what a softmax makes of logits, dy that goes with it, and the exact
// dx = y (dy - sum y dy).
#pragma once

#include <cstdint>
#include <vector>

#include "reference/oracle/oracle.hpp"
#include "reference/tensor.hpp"

namespace assay {

struct BackwardInputs {
  Tensor y, dy;
};

/// y is the correctly rounded softmax of every row of logits, NaN where its policy says NaN; dy is drawn by
/// the row's own bits, so that equal rows have equal gradients wherever they stand. Most dy are N(0, 1); some
/// are one constant (dx vanishes by cancellation), huge beside tiny, or 0 but in one place, and some y are
/// one-hot.
BackwardInputs backward_inputs(const Tensor& logits, const std::vector<RowTruth>& truth);

/// One row with its truth, of which every product is exact in double.
struct BackwardRow {
  bool nan = false;      // y or dy holds a NaN
  bool special = false;  // or an infinity; then only y and dy are filled
  std::vector<double> y, dy;
  Enclosure s;               // sum y dy
  double absolute = 0;       // at least sum |y dy|
  double largest = 0;        // of |dy|
  std::vector<Enclosure> x;  // dx
};
BackwardRow backward_row(const Tensor& y, const Tensor& dy, std::int64_t row);

}  // namespace assay

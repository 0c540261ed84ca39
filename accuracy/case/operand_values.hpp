// SPDX-License-Identifier: Apache-2.0
// The values of a launch's operands, and the logits that result from them. The softmax is taken of z = scale
// x / temperature + bias, and z = -inf where an element is left out (reference/operands.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/claim.hpp"
#include "reference/operands.hpp"
#include "reference/tensor.hpp"

namespace assay {

/// An empty vector and a bias without rows are neutral: they leave nothing out, add nothing and divide by
/// nothing.
struct OperandValues {
  float scale = 1, temperature = 1;
  std::vector<float> temperatures;    // one a row
  std::vector<std::uint8_t> keep;     // rows x V: 0 leaves the element out
  Tensor bias;                        // rows x V, or 1 x V for bias_row
  std::vector<std::int64_t> lengths;  // one a row
};

/// Which values are drawn: ordinary ones, or extreme values of one operand at a time.
enum class OperandDraw {
  ordinary,    // half of the elements left out, a bias of N(0, 4), lengths from 1 to V
  few_left,    // one to three elements of a row are kept, also at its end
  long_tails,  // the last elements of one row are left out, the first of the next
};

/// Values for every operand that the kernel takes. The same seed gives the same values. At least one element
/// of each row is kept. `finite`: the kernel is promised finite numbers, so a bias has no -inf.
OperandValues drawn_operands(const Operands& o, std::int64_t rows, std::int64_t V, std::uint64_t seed,
                             OperandDraw draw, bool finite = false);

/// The logits of which the softmax is taken, and how far a kernel's own logits may be from them.
struct EffectiveLogits {
  Tensor z;  // f32
  /// For each element a bound of |z of the kernel - z|. Empty if the rounding is declared; then the two are
  /// equal.
  std::vector<double> slack;
  /// True if equal stored logits of a row that are not left out have equal z, however it is rounded.
  bool keeps_ties = true;
};

/// `rounding`: how a kernel rounds when it computes z. Each operation (product, quotient, sum) rounds to f32.
EffectiveLogits effective_logits(const Tensor& x, const OperandValues& values, LogitRounding rounding);

/// True if the element is left out.
bool left_out(const OperandValues& values, std::int64_t row, std::int64_t column, std::int64_t V);

}  // namespace assay

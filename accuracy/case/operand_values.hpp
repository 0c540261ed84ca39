// What the operands of a launch hold, and the logits that they make of the stored ones: the softmax is taken of
// z = scale x / temperature + bias, with -inf where something is left out (reference/operands.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/claim.hpp"
#include "reference/operands.hpp"
#include "reference/tensor.hpp"

namespace assay {

/// Empty vectors, and a bias without rows, are neutral: nothing is left out, added or divided by.
struct OperandValues {
  float scale = 1, temperature = 1;
  std::vector<float> temperatures;    // one a row
  std::vector<std::uint8_t> keep;     // rows x V: 0 leaves the element out
  Tensor bias;                        // rows x V, or 1 x V for bias_row
  std::vector<std::int64_t> lengths;  // one a row
};

/// Which values are drawn: ordinary ones, or one operand at a time against the ends of its range.
enum class OperandDraw {
  ordinary,    // half of the elements left out, a bias of N(0, 4), lengths from 1 to V
  few_left,    // one to three elements of a row are left, at its end too
  long_tails,  // only the last elements of a row are left out, and the first of the next
};

/// Values for every operand that the kernel takes, the same for the same seed. At least one element of a row is
/// left.
OperandValues drawn_operands(const Operands& o, std::int64_t rows, std::int64_t V, std::uint64_t seed, OperandDraw draw);

/// The logits the softmax is taken of, and how far those of a kernel may be from them.
struct EffectiveLogits {
  Tensor z;  // f32
  /// By element: bounds |z of the kernel - z|. Empty where the rounding is declared: they are equal.
  std::vector<double> slack;
};

/// `rounding`: how a kernel rounds on the way to z. Each operation rounds to f32: product, quotient, sum.
EffectiveLogits effective_logits(const Tensor& x, const OperandValues& values, LogitRounding rounding);

/// True if the element is left out.
bool left_out(const OperandValues& values, std::int64_t row, std::int64_t column, std::int64_t V);

}  // namespace assay

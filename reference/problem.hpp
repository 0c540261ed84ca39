// SPDX-License-Identifier: Apache-2.0
// A problem: which operation, on what shape. It has every degree of freedom from the start (separate input
// and output dtype, pitches, scale, k), so that a new operation changes no signature.
#pragma once

#include <cstdint>
#include <string>

#include "reference/formats.hpp"
#include "reference/operands.hpp"
#include "reference/ops.hpp"

namespace assay {

/// Logits are rows x V in `in`; rows start `in_pitch` elements apart. Values are written per row, `out_pitch`
/// elements apart: V for softmax, log_softmax, min_p and top_p, one for lse, k for topk (logits),
/// softmax_topk and topk_softmax (probabilities), and log_softmax_topk. softmax_backward reads y, the output
/// of a softmax, in place of the logits, and dy from the gradients. It writes V values, dx = y (dy - sum y
/// dy).
struct Problem {
  Op op = Op::softmax;
  Dtype in = Dtype::f32;
  Dtype out = Dtype::f32;
  std::int64_t rows = 0;
  std::int64_t V = 0;
  std::int64_t in_pitch = 0;
  std::int64_t out_pitch = 0;
  int k = 0;                 // of ops that select
  float threshold = 0;       // of min_p and top_p, as the kernel gets it
  Operands operands = {};    // what the launch reads besides the logits
  float scale = 1.0f;        // value of operand::scale
  float temperature = 1.0f;  // value of operand::temperature

  constexpr void take(const Pick& p) { k = p.k, threshold = static_cast<float>(p.threshold); }
  constexpr Pick pick() const { return {k, static_cast<double>(threshold)}; }
  /// Elements written per row (0 where the op writes only (m, d)).
  constexpr std::int64_t out_columns() const { return columns_of(op, V, k); }
  /// Bytes of one index: 4 (int32), or 8 (int64) if V > 2^31 - 1.
  constexpr int index_bytes() const { return V > INT32_MAX ? 8 : 4; }
};

/// What an op takes of a row in words: "k = 5", "threshold 0.05"; empty if it has neither.
std::string words_of(Op op, const Pick& pick);
/// A number of a shape as it stands in a command line: "0.000001", without an exponent if that tells the same
/// number.
std::string text_of_number(double t);
inline std::string text_of_number(std::int64_t n) { return std::to_string(n); }
inline std::string text_of_number(int n) { return std::to_string(n); }
/// The ops for which from_logits() is true, for messages: "softmax, log_softmax or lse".
std::string names_of_ops_from_logits();

/// Empty if the problem is valid, otherwise one sentence that says what is not.
std::string invalid_reason(const Problem& p);

}  // namespace assay

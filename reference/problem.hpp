// A problem: which operation, on what shape. It has every degree of freedom from the start (separate input
// and output dtype, pitches, scale, k), so that a new operation changes no signature.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reference/formats.hpp"
#include "reference/operands.hpp"

namespace assay {

enum class Op { softmax, log_softmax, lse, normalizer, topk, softmax_topk, softmax_backward };

inline constexpr Op kOps[] = {Op::softmax, Op::log_softmax,  Op::lse,             Op::normalizer,
                              Op::topk,    Op::softmax_topk, Op::softmax_backward};

constexpr const char* name(Op op) {
  switch (op) {
    case Op::softmax:
      return "softmax";
    case Op::log_softmax:
      return "log_softmax";
    case Op::lse:
      return "lse";
    case Op::normalizer:
      return "normalizer";
    case Op::topk:
      return "topk";
    case Op::softmax_topk:
      return "softmax_topk";
    case Op::softmax_backward:
      return "softmax_backward";
  }
  return "?";
}

inline std::optional<Op> parse_op(std::string_view s) {
  for (Op op : kOps)
    if (s == name(op)) return op;
  return std::nullopt;
}

constexpr bool selects(Op op) { return op == Op::topk || op == Op::softmax_topk; }
/// True if the op writes one value a row.
constexpr bool one_value(Op op) { return op == Op::lse; }

/// Logits are rows x V in `in`; rows start `in_pitch` elements apart. Values are written per row, `out_pitch`
/// elements apart: V for softmax and log_softmax, one for lse, k for topk (logits) and softmax_topk
/// (probabilities).
/// softmax_backward reads y, the output of a softmax, in place of the logits, and dy from the gradients. It
/// writes V values, dx = y (dy - sum y dy).
struct Problem {
  Op op = Op::softmax;
  Dtype in = Dtype::f32;
  Dtype out = Dtype::f32;
  std::int64_t rows = 0;
  std::int64_t V = 0;
  std::int64_t in_pitch = 0;
  std::int64_t out_pitch = 0;
  int k = 0;
  Operands operands = {};    // what the launch reads besides the logits
  float scale = 1.0f;        // value of operand::scale
  float temperature = 1.0f;  // value of operand::temperature

  /// Elements written per row (0 where the op writes only (m, d)).
  constexpr std::int64_t out_columns() const {
    if (selects(op)) return k;
    if (one_value(op)) return V > 0 ? 1 : 0;
    return op == Op::normalizer ? 0 : V;
  }
  /// Bytes of one index: 4 (int32), or 8 (int64) if V > 2^31 - 1.
  constexpr int index_bytes() const { return V > INT32_MAX ? 8 : 4; }
};

/// Empty if the problem is valid, otherwise one sentence that says what is not.
std::string invalid_reason(const Problem& p);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// A problem: which operation, on what shape. It has every degree of freedom from the start (separate input
// and output dtype, pitches, scale, k), so that a new operation changes no signature.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "reference/formats.hpp"
#include "reference/operands.hpp"

namespace assay {

/// softmax_topk: the softmax of the row at its k largest elements. topk_softmax: the softmax of the k largest
/// elements alone, as a router has it: its k values add up to 1. log_softmax_topk: the log-softmax of the row
/// at its k largest elements, as a beam search has it.
/// min_p and top_p: the softmax of a set of the row's largest elements, 0 elsewhere, as a sampler has it.
/// min_p keeps the elements whose probability is at least threshold() times the largest one. top_p keeps the
/// fewest largest elements whose probabilities add up to threshold(), of equal ones the smaller index first.
enum class Op {
  softmax,
  log_softmax,
  lse,
  normalizer,
  topk,
  softmax_topk,
  softmax_backward,
  topk_softmax,
  min_p,
  top_p,
  log_softmax_topk
};

inline constexpr Op kOps[] = {
    Op::softmax,         Op::log_softmax,      Op::lse,          Op::normalizer, Op::topk,
    Op::softmax_topk,    Op::softmax_backward, Op::topk_softmax, Op::min_p,      Op::top_p,
    Op::log_softmax_topk};

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
    case Op::topk_softmax:
      return "topk_softmax";
    case Op::min_p:
      return "min_p";
    case Op::top_p:
      return "top_p";
    case Op::log_softmax_topk:
      return "log_softmax_topk";
  }
  return "?";
}

inline std::optional<Op> parse_op(std::string_view s) {
  for (Op op : kOps)
    if (s == name(op)) return op;
  return std::nullopt;
}

constexpr bool selects(Op op) {
  return op == Op::topk || op == Op::softmax_topk || op == Op::topk_softmax || op == Op::log_softmax_topk;
}
/// True if the op keeps a set of the row's elements.
constexpr bool keeps_a_set(Op op) { return op == Op::min_p || op == Op::top_p; }
/// The threshold of min_p and top_p is a whole number of millionths, from 1 on. It takes the place of k.
inline constexpr int kMillion = 1000000;
/// True if a problem of this op has a k, or a threshold.
constexpr bool has_k(Op op) { return selects(op) || keeps_a_set(op); }
/// The k of a problem where nothing else is said: the paper's 5, a min_p of 0.05, a top_p of 0.9.
constexpr int usual_k(Op op) { return op == Op::min_p ? 50000 : op == Op::top_p ? 900000 : 5; }
/// True if the values are probabilities.
constexpr bool probabilities(Op op) {
  return op == Op::softmax || op == Op::softmax_topk || op == Op::topk_softmax || keeps_a_set(op);
}
/// True if the values are x - m - log d, of all columns or of some.
constexpr bool log_probabilities(Op op) { return op == Op::log_softmax || op == Op::log_softmax_topk; }
/// True if the values contain the logarithm of the sum.
constexpr bool logarithms(Op op) { return op == Op::lse || log_probabilities(op); }
/// What a slot holds for which the row has no element, because k exceeds V: the probability 0 or its
/// logarithm.
constexpr double empty_slot(Op op) {
  return op == Op::log_softmax_topk ? -std::numeric_limits<double>::infinity() : 0.0;
}
/// True if the op takes a file of logits and gives values for them.
constexpr bool from_logits(Op op) { return op != Op::normalizer && op != Op::softmax_backward; }
/// True if the op writes one value a row.
constexpr bool one_value(Op op) { return op == Op::lse; }

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
  int k = 0;                 // of min_p and top_p: the threshold in millionths
  Operands operands = {};    // what the launch reads besides the logits
  float scale = 1.0f;        // value of operand::scale
  float temperature = 1.0f;  // value of operand::temperature

  constexpr float threshold() const {
    return keeps_a_set(op) ? static_cast<float>(static_cast<double>(k) / kMillion) : 0.0f;
  }
  /// Elements written per row (0 where the op writes only (m, d)).
  constexpr std::int64_t out_columns() const {
    if (selects(op)) return k;
    if (one_value(op)) return V > 0 ? 1 : 0;
    return op == Op::normalizer ? 0 : V;
  }
  /// Bytes of one index: 4 (int32), or 8 (int64) if V > 2^31 - 1.
  constexpr int index_bytes() const { return V > INT32_MAX ? 8 : 4; }
};

/// The k or the threshold of an op in words: "k = 5", "threshold 0.05"; empty if it has neither.
std::string words_of_k(Op op, int k);
/// The ops for which from_logits() is true, for messages: "softmax, log_softmax or lse".
std::string names_of_ops_from_logits();

/// Empty if the problem is valid, otherwise one sentence that says what is not.
std::string invalid_reason(const Problem& p);

}  // namespace assay

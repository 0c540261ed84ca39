// SPDX-License-Identifier: Apache-2.0
// The table of operations: one row for each. What else lists them (plugin.h, variant.h, the Python reader,
// CMake's KIND) is held to it by reports/cli/list_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

/// softmax_topk: the softmax of the row at its k largest elements. topk_softmax: the softmax of the k largest
/// elements alone, as a router has it: its k values add up to 1. log_softmax_topk: the log-softmax of the row
/// at its k largest elements, as a beam search has it.
/// min_p and top_p: the softmax of a set of the row's largest elements, 0 elsewhere, as a sampler has it.
/// min_p keeps the elements whose probability is at least the threshold times the largest one. top_p keeps
/// the fewest largest elements whose probabilities add up to the threshold, of equal ones the smaller index
/// first. The numbers are those of plugin.h.
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

/// What an op reads in place of the logits, or writes beside its values.
enum class OpInput { logits, probabilities_and_gradients };
/// How many values it writes for each row.
enum class OpColumns { V, k, one, none };
/// What the values are. logits: elements of the row. log_sum: m + log d. pair: (m, d) and no values.
enum class OpValues { probabilities, log_probabilities, log_sum, logits, gradients, pair };
/// The number that a problem of the op has beside its shape. A threshold counts millionths, from 1 on.
enum class OpNumber { none, k, threshold };

struct OpInfo {
  Op op;
  const char* name;
  OpInput input;
  OpColumns columns;
  OpValues values;
  OpNumber number;
  int usual;            // its number where nothing else is said; 0 if it has none
  const char* written;  // the values of a row in words
};

/// In the order of Op.
inline constexpr OpInfo kOpTable[] = {
    {Op::softmax, "softmax", OpInput::logits, OpColumns::V, OpValues::probabilities, OpNumber::none, 0,
     "V probabilities"},
    {Op::log_softmax, "log_softmax", OpInput::logits, OpColumns::V, OpValues::log_probabilities,
     OpNumber::none, 0, "V logarithms of probabilities"},
    {Op::lse, "lse", OpInput::logits, OpColumns::one, OpValues::log_sum, OpNumber::none, 0, "m + log d"},
    {Op::normalizer, "normalizer", OpInput::logits, OpColumns::none, OpValues::pair, OpNumber::none, 0,
     "the maximum m and the sum d of exp(x - m)"},
    {Op::topk, "topk", OpInput::logits, OpColumns::k, OpValues::logits, OpNumber::k, 5,
     "the k largest logits, and their indices"},
    {Op::softmax_topk, "softmax_topk", OpInput::logits, OpColumns::k, OpValues::probabilities, OpNumber::k, 5,
     "the k largest probabilities, and their indices"},
    {Op::softmax_backward, "softmax_backward", OpInput::probabilities_and_gradients, OpColumns::V,
     OpValues::gradients, OpNumber::none, 0,
     "V gradients of the logits, from the probabilities y and their gradients dy"},
    {Op::topk_softmax, "topk_softmax", OpInput::logits, OpColumns::k, OpValues::probabilities, OpNumber::k, 5,
     "the k largest probabilities, which add up to 1, and their indices"},
    {Op::min_p, "min_p", OpInput::logits, OpColumns::V, OpValues::probabilities, OpNumber::threshold, 50000,
     "V probabilities, 0 below a share of the largest one"},
    {Op::top_p, "top_p", OpInput::logits, OpColumns::V, OpValues::probabilities, OpNumber::threshold, 900000,
     "V probabilities, 0 outside the fewest largest ones that add up to a threshold"},
    {Op::log_softmax_topk, "log_softmax_topk", OpInput::logits, OpColumns::k, OpValues::log_probabilities,
     OpNumber::k, 5, "the k largest logarithms of probabilities, and their indices"},
};

constexpr const OpInfo& info(Op op) { return kOpTable[static_cast<std::size_t>(op)]; }
constexpr const char* name(Op op) { return info(op).name; }

constexpr bool ops_are_in_order() {
  for (std::size_t i = 0; i < std::size(kOpTable); ++i)
    if (kOpTable[i].op != static_cast<Op>(i)) return false;
  return true;
}
static_assert(ops_are_in_order());

inline std::optional<Op> parse_op(std::string_view s) {
  for (const OpInfo& o : kOpTable)
    if (s == o.name) return o.op;
  return std::nullopt;
}

/// True if the op selects k elements of a row.
constexpr bool selects(Op op) { return info(op).number == OpNumber::k; }
/// True if the op keeps a set of the row's elements.
constexpr bool keeps_a_set(Op op) { return info(op).number == OpNumber::threshold; }
/// The threshold of min_p and top_p is a whole number of millionths, from 1 on. It takes the place of k.
inline constexpr int kMillion = 1000000;
/// True if a problem of this op has a k, or a threshold.
constexpr bool has_k(Op op) { return info(op).number != OpNumber::none; }
/// The k of a problem where nothing else is said: the paper's 5, a min_p of 0.05, a top_p of 0.9.
constexpr int usual_k(Op op) { return has_k(op) ? info(op).usual : 5; }
/// True if the values are probabilities.
constexpr bool probabilities(Op op) { return info(op).values == OpValues::probabilities; }
/// True if the values are x - m - log d, of all columns or of some.
constexpr bool log_probabilities(Op op) { return info(op).values == OpValues::log_probabilities; }
/// True if the values contain the logarithm of the sum.
constexpr bool logarithms(Op op) { return info(op).values == OpValues::log_sum || log_probabilities(op); }
/// What a slot holds for which the row has no element, because k exceeds V: the probability 0 or its
/// logarithm.
constexpr double empty_slot(Op op) {
  return selects(op) && log_probabilities(op) ? -std::numeric_limits<double>::infinity() : 0.0;
}
/// True if the op takes a file of logits and gives values for them.
constexpr bool from_logits(Op op) {
  return info(op).input == OpInput::logits && info(op).values != OpValues::pair;
}
/// True if the op writes one value a row.
constexpr bool one_value(Op op) { return info(op).columns == OpColumns::one; }
/// Values that the op writes for a row of V elements.
constexpr std::int64_t columns_of(Op op, std::int64_t V, int k) {
  switch (info(op).columns) {
    case OpColumns::V:
      return V;
    case OpColumns::k:
      return k;
    case OpColumns::one:
      return V > 0 ? 1 : 0;
    case OpColumns::none:
      break;
  }
  return 0;
}

/// The names of all ops, separated by spaces.
inline std::string names_of_ops() {
  std::string all;
  for (const OpInfo& o : kOpTable) all += (all.empty() ? "" : " ") + std::string(o.name);
  return all;
}

}  // namespace assay

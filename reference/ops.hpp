// SPDX-License-Identifier: Apache-2.0
// The table of operations: one row for each. What else lists them (plugin.h, variant.h, the Python reader,
// CMake's KIND) is held to it by reports/cli/list_test.cpp.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
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
/// What a number of a case is to the code that all ops share: a launch has `rows` rows, the softmax is over
/// `V` elements of each, and of these the op takes the `k` largest or those that a `threshold` keeps.
/// `further` numbers mean something to their op alone.
enum class SizePart { rows, V, k, threshold, further };
inline constexpr int kMostFurther = 4;
inline constexpr int kMostK = 1 << 20;

/// One number of the list that a case's shape is. The list of an op's row says in which order they stand.
struct SizeInfo {
  const char* name;  // of a record's member and in its identity; behind "--", with - for _, of the option
  SizePart part;
  const char* what;    // the axis of a contract, and the column of a page
  double least, most;  // what may be asked for
  int slot = 0;        // of a further number, which one
  bool in_use = true;  // false: the op has no such number, and its records hold a 0
};

inline constexpr double kMostSize = static_cast<double>(std::int64_t{1} << 46);
inline constexpr SizeInfo kRowSizes[] = {{"V", SizePart::V, "row length", 0, kMostSize},
                                         {"rows", SizePart::rows, "rows", 0, kMostSize},
                                         {"k", SizePart::k, "k", 0, 0, 0, false}};
inline constexpr SizeInfo kSelectedSizes[] = {kRowSizes[0], kRowSizes[1], {"k", SizePart::k, "k", 1, kMostK}};
inline constexpr SizeInfo kKeptSizes[] = {
    kRowSizes[0], kRowSizes[1], {"threshold", SizePart::threshold, "threshold", 0.000001, 1}};

struct OpInfo {
  Op op;
  const char* name;
  OpInput input;
  OpColumns columns;
  OpValues values;
  std::span<const SizeInfo> sizes;
  double usual;         // its k or threshold where nothing else is said; 0 if it has none
  const char* written;  // the values of a row in words
};

/// In the order of Op.
inline constexpr OpInfo kOpTable[] = {
    {Op::softmax, "softmax", OpInput::logits, OpColumns::V, OpValues::probabilities, kRowSizes, 0,
     "V probabilities"},
    {Op::log_softmax, "log_softmax", OpInput::logits, OpColumns::V, OpValues::log_probabilities, kRowSizes, 0,
     "V logarithms of probabilities"},
    {Op::lse, "lse", OpInput::logits, OpColumns::one, OpValues::log_sum, kRowSizes, 0, "m + log d"},
    {Op::normalizer, "normalizer", OpInput::logits, OpColumns::none, OpValues::pair, kRowSizes, 0,
     "the maximum m and the sum d of exp(x - m)"},
    {Op::topk, "topk", OpInput::logits, OpColumns::k, OpValues::logits, kSelectedSizes, 5,
     "the k largest logits, and their indices"},
    {Op::softmax_topk, "softmax_topk", OpInput::logits, OpColumns::k, OpValues::probabilities, kSelectedSizes,
     5, "the k largest probabilities, and their indices"},
    {Op::softmax_backward, "softmax_backward", OpInput::probabilities_and_gradients, OpColumns::V,
     OpValues::gradients, kRowSizes, 0,
     "V gradients of the logits, from the probabilities y and their gradients dy"},
    {Op::topk_softmax, "topk_softmax", OpInput::logits, OpColumns::k, OpValues::probabilities, kSelectedSizes,
     5, "the k largest probabilities, which add up to 1, and their indices"},
    {Op::min_p, "min_p", OpInput::logits, OpColumns::V, OpValues::probabilities, kKeptSizes, 0.05,
     "V probabilities, 0 below a share of the largest one"},
    {Op::top_p, "top_p", OpInput::logits, OpColumns::V, OpValues::probabilities, kKeptSizes, 0.9,
     "V probabilities, 0 outside the fewest largest ones that add up to a threshold"},
    {Op::log_softmax_topk, "log_softmax_topk", OpInput::logits, OpColumns::k, OpValues::log_probabilities,
     kSelectedSizes, 5, "the k largest logarithms of probabilities, and their indices"},
};

/// An op beside those of the table. A test sets it to show what a row alone brings about.
inline const OpInfo* added_op = nullptr;
inline const OpInfo& info_of_added(Op op) {
  if (!added_op || added_op->op != op) throw std::out_of_range("there is no such op");
  return *added_op;
}

constexpr const OpInfo& info(Op op) {
  const auto i = static_cast<std::size_t>(op);
  return i < std::size(kOpTable) ? kOpTable[i] : info_of_added(op);
}
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
  if (added_op && s == added_op->name) return added_op->op;
  return std::nullopt;
}

/// True if the op has a number of this part.
constexpr bool has(Op op, SizePart part) {
  for (const SizeInfo& s : info(op).sizes)
    if (s.part == part && s.in_use) return true;
  return false;
}

/// True if the op selects k elements of a row.
constexpr bool selects(Op op) { return has(op, SizePart::k); }
/// True if the op keeps a set of the row's elements.
constexpr bool keeps_a_set(Op op) { return has(op, SizePart::threshold); }

/// What an op takes of a row: its k largest elements, or those that a threshold keeps. The other is 0.
struct Pick {
  int k = 0;
  double threshold = 0;

  constexpr Pick() = default;
  constexpr Pick(int largest) : k(largest) {}
  constexpr Pick(int largest, double t) : k(largest), threshold(t) {}
  auto operator<=>(const Pick&) const = default;
};
constexpr Pick of_threshold(double t) { return {0, t}; }
/// Files from before a threshold was a field of its own hold it as a k that counts millionths.
constexpr Pick of_old_k(Op op, int k) {
  return keeps_a_set(op) ? of_threshold(k / 1000000.0) : selects(op) ? Pick(k) : Pick();
}
/// True if a problem of this op has a k, or a threshold.
constexpr bool picks(Op op) { return selects(op) || keeps_a_set(op); }
/// The pick of a problem where nothing else is said: the paper's k = 5, a min_p of 0.05, a top_p of 0.9.
constexpr Pick usual_pick(Op op) {
  return keeps_a_set(op) ? of_threshold(info(op).usual)
         : selects(op)   ? Pick(static_cast<int>(info(op).usual))
                         : Pick();
}
/// What a problem of the op has of this pick. A threshold that is left out is the usual one.
constexpr Pick pick_for(Op op, const Pick& p) {
  if (keeps_a_set(op)) return p.threshold > 0 ? of_threshold(p.threshold) : usual_pick(op);
  return selects(op) ? Pick(p.k) : Pick();
}

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

/// The numbers of a case. Which of them a case has, and under which names, the row of its op says.
struct CaseShape {
  std::int64_t rows = 0, V = 0;
  int k = 0;
  double threshold = 0;
  std::array<std::int64_t, kMostFurther> further = {};

  constexpr Pick pick() const { return {k, threshold}; }
  auto operator<=>(const CaseShape&) const = default;
};
constexpr CaseShape shape_of(std::int64_t rows, std::int64_t V, const Pick& pick) {
  return {.rows = rows, .V = V, .k = pick.k, .threshold = pick.threshold};
}

/// The list of an op; of a name that is none, such as a ceiling's, that of ops without a number of their own.
inline std::span<const SizeInfo> sizes_of(std::string_view op) {
  const std::optional<Op> known = parse_op(op);
  return known ? info(*known).sizes : std::span<const SizeInfo>(kRowSizes);
}
/// Calls f(info, number) for each number of a list, in its order; `number` refers into the shape.
template <class S, class F>
constexpr void each_size(std::span<const SizeInfo> sizes, S& shape, F&& f) {
  for (const SizeInfo& s : sizes) switch (s.part) {
      case SizePart::rows:
        f(s, shape.rows);
        break;
      case SizePart::V:
        f(s, shape.V);
        break;
      case SizePart::k:
        f(s, shape.k);
        break;
      case SizePart::threshold:
        f(s, shape.threshold);
        break;
      case SizePart::further:
        f(s, shape.further[static_cast<std::size_t>(s.slot)]);
        break;
    }
}
/// True for a number of the inputs, and not of what is taken of them.
constexpr bool of_inputs(const SizeInfo& s) { return s.part != SizePart::k && s.part != SizePart::threshold; }

/// The names of all ops, separated by spaces.
inline std::string names_of_ops() {
  std::string all;
  for (const OpInfo& o : kOpTable) all += (all.empty() ? "" : " ") + std::string(o.name);
  return all;
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>

#include "accuracy/conformance/diagnosis/finding.hpp"
#include "kernels/candidate.hpp"
#include "kernels/fault_kind.hpp"
#include "reference/problem.hpp"

namespace assay::conformance {
namespace {

constexpr const char* kAlignment = "vector accesses assume an alignment that the base address does not have";
constexpr const char* kOtherStream = "the work is not on the stream it was given";
constexpr const char* kLateWrite = "the work goes on after the stream is done";

struct SetupCause {
  SetupKind kind;
  const char* likely;
};
constexpr const char* kFirstLogits = "results are cached by a fingerprint of the first logits";
constexpr const char* kBeyondTheRow = "elements beyond the row are read or written";
constexpr const char* kPitch = "the pitch is ignored";
constexpr SetupCause kOfOneLaunch[] = {
    {SetupKind::pitch_logits, kPitch},
    {SetupKind::pitch_probs, kPitch},
    {SetupKind::pitch_both, kPitch},
    {SetupKind::pitch_unequal, kPitch},
    {SetupKind::offset, kAlignment},
    {SetupKind::page_end, "an access beyond the last element"},
    {SetupKind::in_place, "logits are read again after they were written over"},
    {SetupKind::outputs_finite, "outputs are read before they are written"},
    {SetupKind::guard_finite, kBeyondTheRow},
    {SetupKind::guard_nan, kBeyondTheRow},
    {SetupKind::two_at_once, "state is shared between launches on different streams"},
    {SetupKind::delayed_producer, kOtherStream},
    {SetupKind::late_write, kLateWrite}};
constexpr SetupCause kOfCalls[] = {
    {SetupKind::same_head, kFirstLogits},
    {SetupKind::one_changed, "results are cached by a fingerprint of the content"},
    {SetupKind::new_pointer, "results are cached by content, or the first pointer is kept"},
    {SetupKind::same_again, "state is kept from call to call"},
    {SetupKind::after_special, "special values of one call reach the next"},
    {SetupKind::rows_again, "a counter or a buffer is not as the next call with many rows needs it"},
    {SetupKind::small_large_small, "a buffer is sized or filled by an earlier call"},
    {SetupKind::dtype_order, "a table or a buffer is kept without the type it was made for"},
    {SetupKind::op_order, "one operation leaves state to the next"},
    {SetupKind::call_200, "it is right only for the first calls, or something runs out"}};

std::string cause_of_setup(const Setup& setup, const Finding& f) {
  const auto also = [&](SetupKind other) { return f.setups.contains(other); };
  const auto in = [&](std::span<const SetupCause> table) {
    const auto at = std::ranges::find(table, setup.kind(), &SetupCause::kind);
    return at == table.end() ? nullptr : at->likely;
  };
  if (const char* const likely = in(kOfOneLaunch))
    return likely == kPitch && f.failed_checks.contains(Check::guard)
               ? "the output pitch is ignored, or rows are written beyond V"
               : likely;
  if (setup.kind() == SetupKind::new_content || also(SetupKind::new_content))
    return "results are cached by pointer, or state is kept from call to call";
  if (setup.kind() == SetupKind::one_changed && also(SetupKind::same_head)) return kFirstLogits;
  const char* const likely = in(kOfCalls);
  return likely ? likely : "";
}

/// True if a weaker claim would let the outputs pass; then a loss of accuracy may grow with the row.
bool of_another_class(const Finding& f) { return f.first->nearest == Nearest::other_class; }

/// The setup that tells most, of several setups of calls that fail: the most specific one, unless the setup
/// in which everything fails (new_content) fails too.
Setup most_telling(const Finding& f) {
  for (const SetupKind kind :
       {SetupKind::dtype_order, SetupKind::same_head, SetupKind::one_changed, SetupKind::small_large_small,
        SetupKind::rows_again, SetupKind::after_special, SetupKind::new_pointer, SetupKind::new_content,
        SetupKind::same_again, SetupKind::call_200})
    if (f.setups.contains(kind) &&
        (!f.setups.contains(SetupKind::new_content) || kind == SetupKind::new_content))
      return kind;
  return f.first->setup;
}

bool beside_the_row(const Finding& f) {
  return f.failed_checks.contains(Check::guard) || f.failed_checks.contains(Check::inputs);
}

std::string cause_of_V(const Finding& f, const Rule& rule) {
  const bool constant_only = f.first->family == "constant" && rule.with == Pattern::family;
  const bool rest = rule.pattern == Pattern::V_rest || rule.pattern == Pattern::V_no_multiple;
  if (rest && rule.number == 3) return {};
  const std::string beyond = beside_the_row(f) ? " writes beyond V" : "";
  switch (rule.pattern) {
    case Pattern::V_rest:
      if (rule.number <= 16)
        return (f.first->V % rule.number == 0 ? "the vectorised path" : "the tail of a vectorised loop") +
               beyond;
      return f.first->V % rule.number == 0
                 ? fmt::format("rows that fill whole tiles of {}", rule.number)
                 : fmt::format("the tail of a tile or block of {}", rule.number) + beyond;
    case Pattern::V_no_multiple:
      return rule.number <= 16 ? "the tail of a vectorised loop" + beyond
                               : fmt::format("the tail of a tile of {} is wrong or left out", rule.number);
    case Pattern::V_power_of_two:
      return "an off-by-one at powers of two: in the number of steps or threads, or between two paths";
    case Pattern::V_from:
      if (rule.number <= 2) return {};
      if (f.first->op == name(Op::softmax_topk) && rule.number == f.first->k + 1 &&
          f.failed_checks.contains(Check::element))
        return "values that are normalised over the k that were taken, and not over the row";
      if (f.first->op == name(Op::topk_softmax) && rule.number == f.first->k + 1 &&
          f.failed_checks.contains(Check::element))
        return "values that are normalised over the row, and not over the k that were taken";
      if (constant_only) return "the sum is accumulated in a format too narrow for its terms";
      if (of_another_class(f)) return kOtherArithmetic;
      return fmt::format("rows longer than {} take a path, or need room, that is wrong", rule.number - 1);
    case Pattern::V_to:
      return rule.number <= 1 ? "empty or single rows are not provided for"
                              : fmt::format("rows up to {} take a path that is wrong", rule.number);
    case Pattern::single_V:
      if (rule.number <= 1) return "empty or single rows are not provided for";
      // A single case of a family shows nothing about its length.
      return f.cases.size() == 1 && rule.with == Pattern::family ? "" : "a separate path for this length";
    case Pattern::band:
      return "a dispatch between these lengths takes a wrong path";
    default:
      return {};
  }
}

std::string cause_of_maximum(const Rule& rule) {
  const Pattern p = about_maximum(rule.pattern) ? rule.pattern : rule.with;
  return p == Pattern::maximum_below ? "the running maximum, or the padding, does not start at -inf"
                                     : "no maximum is subtracted, or not from every logit";
}

std::string cause_of_rows(const Finding& f, const Rule& rule) {
  if (f.group == "operands" && f.also.empty() && rule.number > 1)
    return "an operand of another row: one that is kept from a block's first row, or read at a wrong offset";
  if (rule.pattern == Pattern::rows_rest || rule.with == Pattern::rows_rest)
    return "the last rows of a block that takes several";
  if (rule.number <= 1) return "rows beyond the first are addressed wrongly";
  // The cases have some numbers of rows only; the first row that nothing wrote tells the limit itself.
  const std::int64_t most = first_row_unwritten(f).value_or(rule.number - 1);
  return fmt::format("more than {} rows are not provided for", most > 0 ? most : rule.number - 1);
}

/// The rows of a backward pass have no maximum. Of the properties of its logits, only special values reach
/// it.
bool is_backward(const Finding& f) { return f.first->op == name(Op::softmax_backward); }

std::string cause_of_family(const Finding& f, const Rule& rule) {
  const FamilyClass& c = family_classes()[static_cast<std::size_t>(rule.family_class)];
  if (!c.without) return c.likely;
  return is_backward(f) ? "" : of_another_class(f) ? kOtherArithmetic : c.likely;
}

/// True if all that failed are values, or the choice of what was taken.
bool only_values(const Finding& f) {
  constexpr Check kValues[] = {Check::element,   Check::kept,    Check::order,     Check::gather,
                               Check::coherence, Check::row_sum, Check::monotone,  Check::range,
                               Check::argmax,    Check::special, Check::normalizer};
  return std::all_of(f.failed_checks.begin(), f.failed_checks.end(), [&](Check c) {
    return std::find(std::begin(kValues), std::end(kValues), c) != std::end(kValues);
  });
}

constexpr const char* kOperand = "an operand is left out, or is used in another way than its role says";

/// True if most of the cases for which the rule does not hold fail too.
bool fails_without(const Rule& rule) {
  const auto bad_out = static_cast<std::int64_t>(rule.bad.size()) - rule.bad_in;
  const auto good_out = static_cast<std::int64_t>(rule.good.size()) - rule.good_in;
  return bad_out > good_out;
}

std::string cause_of_fault(const Finding& f) {
  switch (cause_of(*f.first)) {
    case FaultKind::misaligned:
      return "a vector access at an address that is no multiple of its size";
    case FaultKind::wild_access:
      return "an address outside the buffers";
    case FaultKind::shared_overrun:
      return "more shared memory is used than was declared or asked for at the launch";
    case FaultKind::own_memory_overrun:
      return "a buffer of the launcher's own is smaller than what is written to it";
    case FaultKind::divergence:
      return "a barrier or a warp collective that not all of its threads reach";
    case FaultKind::bad_launch:
      return "a launch beyond what the machine has";
    case FaultKind::other_stream:
      return kOtherStream;
    default:
      return {};
  }
}

std::string cause_of_checks(const Finding& f, const Rule& rule) {
  const auto names = [&](Check c) { return f.failed_checks.contains(c); };
  if (names(Check::race)) return "two threads use one address with no barrier between them";
  if (names(Check::late_write)) return kLateWrite;
  if (names(Check::batch)) return "a row's result depends on the other rows of its batch";
  if (names(Check::repeat) && !about_rows(rule.pattern) && !about_rows(rule.with))
    return "the result depends on the order of threads: a missing barrier, or memory that is read before it "
           "is "
           "written";
  if (names(Check::inputs))
    return f.group == "operands" ? "an input is written to" : "the logits are written to";
  return {};
}

}  // namespace

std::string likely_cause(const Finding& f, const Rule& rule) {
  const bool backward = is_backward(f);
  // If every case of a group fails, the subject of the group need not be the reason.
  const bool all = rule.pattern == Pattern::everything;
  const auto tells = [&](Pattern p) { return rule.pattern == p || rule.with == p; };
  if (tells(Pattern::pitch_of_outputs)) return "the output pitch is ignored";
  if (tells(Pattern::pitch_of_logits)) return "the pitch of the logits is ignored";
  if (tells(Pattern::base_alignment)) return kAlignment;
  const bool of_setups = f.group == "calls" || f.group == "streams" || tells(Pattern::setup);
  // A call that also fails as the only one of a process is not affected by earlier calls.
  const bool stateless = f.group == "calls" && f.first->alone == Alone::fails;
  if (f.group == "calls" && !stateless)
    if (std::string s = cause_of_setup(most_telling(f), f); !s.empty()) return s;
  if (of_setups && !stateless && (!all || f.setups.size() == 1))
    if (std::string s = cause_of_setup(f.first->setup, f); !s.empty()) return s;
  if (f.status == Status::hung && cause_of(*f.first) == FaultKind::stopped)
    return "its process was stopped by a signal, mostly its own, so that the launch never ends";
  if (f.status == Status::hung)
    return "it never ends, or takes longer than a launch is given: --timeout gives it more seconds";
  if (all && f.group != "operands" && f.first->op == name(Op::topk) &&
      f.failed_checks == std::set<Check>{Check::gather})
    return "the values are not logits: --op softmax_topk judges probabilities of the row, --op topk_softmax "
           "those of the k alone, --op log_softmax_topk logarithms";
  if (std::string s = cause_of_fault(f); !s.empty()) return s;
  if (std::string s = cause_of_checks(f, rule); !s.empty()) return s;
  // The shortest rows show a wrong number of terms exactly. In long rows one term may be within the bound, so
  // that a rule about V says where the fault shows and not what it is.
  if (!f.lost_terms.empty()) return f.lost_terms;
  const bool of_operands = f.group == "operands" && f.also.empty() && only_values(f);
  if (of_operands && !rule.exact() && !about_rows(rule.pattern) && !about_rows(rule.with)) return kOperand;
  // If more than 3 in 10 cases of the rule pass, the rule says where the fault shows, not what it is. The
  // same holds if most cases outside the rule fail as well.
  if (10 * rule.bad_in >= 7 * (rule.bad_in + rule.good_in) && (rule.exact() || !fails_without(rule))) {
    if (!backward && (about_maximum(rule.pattern) || about_maximum(rule.with))) return cause_of_maximum(rule);
    const bool vector_rest =
        (rule.pattern == Pattern::V_rest || rule.pattern == Pattern::V_no_multiple) && rule.number <= 16;
    if (rule.family_class >= 0 && !vector_rest)
      if (std::string s = cause_of_family(f, rule); !s.empty()) return s;
    if (about_V(rule.pattern))
      if (std::string s = cause_of_V(f, rule); !s.empty()) return s;
    // More rows also mean more random rows.
    if (about_rows(rule.pattern) && rule.number > 1 && of_another_class(f)) return kOtherArithmetic;
    if (about_rows(rule.pattern) || about_rows(rule.with)) return cause_of_rows(f, rule);
  }
  if (rule.pattern == Pattern::columns_times_rows) return "offsets of elements are kept in 32 bits";
  if (f.failed_checks.contains(Check::written)) return "outputs are left unwritten";
  if (f.failed_checks.contains(Check::guard)) return "bytes beside the buffers are written";
  // A wrong sum leaves the outputs of a row as they should be to one another.
  const bool alike = !f.failed_checks.contains(Check::coherence);
  if (!backward && alike && rule.pattern == Pattern::family && f.first->family == "constant")
    return "a narrow accumulator, or terms left out of the sum";
  // Less accurate arithmetic keeps the order of the logits.
  if (!backward && f.failed_checks.contains(Check::coherence) &&
      (f.failed_checks.contains(Check::argmax) || f.failed_checks.contains(Check::monotone)))
    return "numerators that do not share one maximum: a wrong maximum, of a lane, a vector, a warp or a tile";
  const bool element = f.failed_checks.contains(Check::element);
  if (f.failed_checks.contains(Check::coherence) && of_another_class(f)) return kOtherArithmetic;
  if (!backward && f.failed_checks.contains(Check::coherence) && !element)
    return "numerators that do not share one maximum, or divisors that are not one number";
  if (f.failed_checks.contains(Check::row_sum) && !element) return "terms left out of the sum";
  if (of_operands) return kOperand;
  return {};
}

}  // namespace assay::conformance

#include "accuracy/conformance/likely_cause.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "accuracy/checks.hpp"

namespace assay::conformance {
namespace {

bool one_of(const std::string& s, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

constexpr FamilyClass kClasses[] = {
    {"whose logits are all below zero", "the running maximum, or the padding, does not start at -inf",
     [](const std::string& f) {
       return one_of(f, {"all_negative", "far_below", "shifted_minus_1000"});
     }},
    {"far below zero", "a finite number stands in for -inf",
     [](const std::string& f) {
       return one_of(f, {"far_below", "shifted_minus_1000"});
     }},
    {"with NaN", "a maximum that drops NaN (fmaxf does) hides it",
     [](const std::string& f) { return f == "nan"; }},
    {"with +inf", "inf - inf, or a policy for +inf that was not declared",
     [](const std::string& f) { return f == "pos_inf"; }},
    {"of nothing but -inf", "-inf - -inf, or a policy for empty rows that was not declared",
     [](const std::string& f) { return f == "all_neg_inf"; }},
    {"with -inf", "a part of the row that is all -inf: exp(-inf - -inf) is NaN",
     [](const std::string& f) {
       return f.starts_with("inf_") || one_of(f, {"single_finite", "attention_causal", "all_neg_inf"});
     }},
    {"with parts all -inf", "a part of the row that is all -inf: exp(-inf - -inf) is NaN",
     [](const std::string& f) { return f.starts_with("inf_") || f == "single_finite"; }},
    {"with special values", "special values are handled otherwise than declared",
     [](const std::string& f) {
       return f.starts_with("inf_") ||
              one_of(f, {"single_finite", "all_neg_inf", "pos_inf", "nan", "attention_causal"});
     }},
    {"whose lanes' or tiles' maxima lie far apart",
     "a wrong maximum, or a missing rescale, per lane, vector, thread or tile",
     [](const std::string& f) { return f.ends_with("_maxima"); }},
    {"with ties", "equal logits are ordered otherwise than declared",
     [](const std::string& f) {
       return one_of(f, {"ties", "two_valued"});
     }},
    {"that ascends slowly", "the running sum is rescaled by a biased or rounded factor at every step",
     [](const std::string& f) {
       return one_of(f, {"ramp_1e4", "ramp_1ulp"});
     }},
    {"where exp overflows", "no maximum is subtracted",
     [](const std::string& f) {
       return one_of(f, {"overflow", "shifted_1000", "spike"});
     }},
    {"of large logits", "no maximum is subtracted, or not from every logit",
     [](const std::string& f) {
       return one_of(
           f, {"overflow", "shifted_1000", "spike", "mixed_magnitudes", "exact_extremes", "first_small"});
     }},
    {"with subnormal outputs", "small results are flushed to zero",
     [](const std::string& f) { return f == "subnormal_out"; }},
    {"of wide range", "the exp is less accurate far below the maximum",
     [](const std::string& f) {
       return one_of(f, {"uniform_80", "normal_10", "subnormal_out"});
     }},
};

bool names(const Finding& f, std::string_view check) {
  return (", " + f.checks + ",").find(fmt::format(" {},", check)) != std::string::npos;
}

std::string cause_of_setup(const std::string& setup, const Finding& f) {
  if (setup.starts_with("pitch"))
    return names(f, "guard") ? "the output pitch is ignored, or rows are written beyond V"
                             : "the pitch is ignored";
  if (setup.starts_with("offset_"))
    return "vector accesses assume an alignment that the base address does not have";
  if (setup == "page_end") return "an access beyond the last element";
  if (setup == "in_place") return "logits are read again after they were written over";
  if (setup == "outputs_finite") return "outputs are read before they are written";
  if (setup == "guard_finite" || setup == "guard_nan") return "elements beyond the row are read or written";
  if (setup == "two_at_once") return "state is shared between launches on different streams";
  if (setup == "delayed_producer") return "the work is not on the stream it was given";
  if (setup == "late_write") return "the work goes on after the stream is done";
  const auto also = [&](const char* other) { return f.setups.contains(other); };
  if (setup == "new_content" || also("new_content"))
    return "results are cached by pointer, or state is kept from call to call";
  if (setup == "same_head" || (setup == "one_changed" && also("same_head")))
    return "results are cached by a fingerprint of the first logits";
  if (setup == "one_changed") return "results are cached by a fingerprint of the content";
  if (setup == "new_pointer") return "results are cached by content, or the first pointer is kept";
  if (setup == "same_again") return "state is kept from call to call";
  if (setup == "after_special") return "special values of one call reach the next";
  if (setup == "rows_again") return "a counter or a buffer is not as the next call with many rows needs it";
  if (setup == "small_large_small") return "a buffer is sized or filled by an earlier call";
  if (setup == "dtype_order") return "a table or a buffer is kept without the type it was made for";
  if (setup == "op_order") return "one operation leaves state to the next";
  if (setup == "call_200") return "it is right only for the first calls, or something runs out";
  return {};
}

/// The probes name a class that the first case would pass: it is exact enough for that one.
bool of_another_class(const Finding& f) {
  return f.first->behaves_like.find("would pass with ") != std::string::npos;
}
constexpr const char* kOtherArithmetic = "arithmetic less exact than its claim, of the class it would pass";

std::string cause_of_V(const Finding& f, const Predicate& p) {
  const bool constant_only = f.first->family == "constant" && p.with == Pattern::family;
  const bool rest = p.pattern == Pattern::V_rest || p.pattern == Pattern::V_no_multiple;
  if (rest && p.number == 3) return {};
  switch (p.pattern) {
    case Pattern::V_rest:
      if (p.number <= 16)
        return f.first->V % p.number == 0 ? "the vectorised path" : "the tail of a vectorised loop";
      return f.first->V % p.number == 0 ? fmt::format("rows that fill whole tiles of {}", p.number)
                                        : fmt::format("the tail of a tile or block of {}", p.number);
    case Pattern::V_no_multiple:
      return p.number <= 16 ? "the tail of a vectorised loop"
                            : fmt::format("the tail of a tile of {} is wrong or left out", p.number);
    case Pattern::V_from:
      if (p.number <= 2) return {};
      if (constant_only) return "the sum is accumulated in a format too narrow for its terms";
      if (of_another_class(f)) return kOtherArithmetic;
      return fmt::format("rows longer than {} take a path, or need room, that is wrong", f.first->V - 1);
    case Pattern::V_to:
      return p.number <= 1 ? "empty or single rows are not provided for"
                           : fmt::format("rows up to {} take a path that is wrong", p.number);
    case Pattern::single_V:
      if (p.number <= 1) return "empty or single rows are not provided for";
      // One case of a family shows nothing about its length.
      return f.failed == 1 && p.with == Pattern::family ? "" : "a path of its own for this length";
    case Pattern::band:
      if (of_another_class(f)) return kOtherArithmetic;
      return "a dispatch between these lengths takes a wrong path";
    default:
      return {};
  }
}

}  // namespace

std::span<const FamilyClass> family_classes() { return kClasses; }

std::string setup_kind(const std::string& setup) {
  const std::size_t at = setup.find('_');
  return at == std::string::npos ? setup : setup.substr(0, at + 1);
}

std::string primary_check(const Record& r) {
  if (r.status != Status::fail) return name(r.status);
  for (int c = 0; c < kChecks; ++c)
    for (const CheckResult& one : r.checks)
      if (one.failed > 0 && one.name == name(static_cast<Check>(c))) return one.name;
  return "fail";
}

std::string likely_cause(const Finding& f, const Predicate* p) {
  // Where every case of a group fails, the group's own subject need not be why.
  const bool all = p && p->pattern == Pattern::everything;
  const bool of_setups = f.group == "calls" || f.group == "streams" ||
                         (p && (p->pattern == Pattern::setup || p->with == Pattern::setup));
  // A call that fails as the only one of a process as well has nothing to do with the calls before it.
  const bool stateless = f.group == "calls" && has_evidence(*f.first, kFailsAlone);
  if (of_setups && !stateless && (!all || f.setups.size() == 1))
    if (std::string s = cause_of_setup(f.first->setup, f); !s.empty()) return s;
  if (f.status == Status::crashed && f.first->reason.find("illegal instruction") != std::string::npos)
    return "a vector access at an address that is no multiple of its size";
  if (f.status == Status::crashed && f.first->reason.find("illegal") != std::string::npos)
    return "an address outside the buffers";
  if (f.status == Status::hung)
    return "it never ends, or takes longer than a launch is given: --timeout gives it more seconds";
  if (names(f, "launch") && f.detail.find("shared memory was written past") != std::string::npos)
    return "more shared memory is used than was declared or asked for at the launch";
  if (names(f, "launch") && f.detail.find("that cudaMalloc gave") != std::string::npos)
    return "a buffer of the launcher's own is smaller than what is written to it";
  if (names(f, "race")) return "two threads use one address with no barrier between them";
  if (names(f, "late_write")) return "the work goes on after the stream is done";
  if (names(f, "batch")) return "a row's result depends on the other rows of its batch";
  if (names(f, "repeat"))
    return f.group == "schedules" ? "the result depends on the order of threads: a missing barrier"
                                  : "a race, or memory that is read before it is written";
  if (names(f, "inputs")) return "the logits are written to";
  if (p && p->pattern == Pattern::family_class)
    for (const FamilyClass& c : kClasses)
      if (p->words.ends_with(c.words)) return c.likely;
  if (p && p->pattern >= Pattern::single_V)
    if (std::string s = cause_of_V(f, *p); !s.empty()) return s;
  // More rows are more draws as well.
  if (p && p->pattern == Pattern::rows_above && p->number > 1 && of_another_class(f)) return kOtherArithmetic;
  if (p && p->pattern == Pattern::rows_above)
    return p->number <= 1 ? "rows beyond the first are addressed wrongly"
                          : fmt::format("more than {} rows are not provided for", p->number - 1);
  if (names(f, "written")) return "outputs are left unwritten";
  if (names(f, "guard")) return "bytes beside the buffers are written";
  if (p && p->pattern == Pattern::family && f.first->family == "constant")
    return "a narrow accumulator, or terms left out of the sum";
  if (names(f, "coherence") && of_another_class(f)) return kOtherArithmetic;
  if (names(f, "coherence") && !names(f, "element"))
    return "numerators that do not share one maximum, or divisors that are not one number";
  if (names(f, "row_sum") && !names(f, "element")) return "terms left out of the sum";
  return {};
}

}  // namespace assay::conformance

// SPDX-License-Identifier: Apache-2.0
// The axes of a contract, as the records of a run and the limits of a kernel show them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "accuracy/conformance/contract/contract.hpp"
#include "accuracy/conformance/contract/limit_search.hpp"
#include "accuracy/conformance/diagnosis/rules.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/declaration.hpp"

namespace assay::conformance {
namespace {

/// True if a limit of this axis is among those that were found. Cases that fail may be within it.
bool is_limited(const std::string& axis, const std::string& found) {
  constexpr std::pair<const char*, const char*> kWords[] = {{"k", "max_k"},
                                                            {"k", "k_up_to_V"},
                                                            {"rows x V", "max_elements"},
                                                            {"alignment", "alignment"},
                                                            {"-inf as a mask", "finite"},
                                                            {"size of logits", "max_abs"}};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const auto& one) { return axis == one.first && says(found, one.second); });
}

/// Whether records of an axis passed or failed.
struct Seen {
  bool passed = false, failed = false;
  void add(const Record& r) {
    passed = passed || r.status == Status::pass;
    failed = failed || fails(r);
  }
};

Axis axis(const char* name, const Seen& seen, const std::string& within, bool limited, bool found) {
  Axis a{name};
  a.within = within;
  a.state = seen.failed   ? Axis::State::wrong
            : limited     ? (found ? Axis::State::found : Axis::State::declared)
            : seen.passed ? Axis::State::holds
                          : Axis::State::not_tried;
  return a;
}

}  // namespace

bool says(const std::string& declaration, const std::string& word) {
  return !declared_value(declaration, word).empty();
}

const char* name(Axis::State s) {
  switch (s) {
    case Axis::State::holds:
      return "holds";
    case Axis::State::declared:
      return "declared";
    case Axis::State::found:
      return "found, not declared";
    case Axis::State::not_promised:
      return "not promised";
    case Axis::State::wrong:
      return "wrong";
    case Axis::State::not_tried:
      break;
  }
  return "not tried";
}

std::string Contract::within() const {
  std::vector<std::string> parts;
  for (const Axis& a : axes)
    if (!a.within.empty() &&
        (a.state == Axis::State::declared || a.state == Axis::State::found || a.name == "rows" ||
         a.name == "row length" || (a.state == Axis::State::wrong && is_limited(a.name, found))) &&
        // Callers rely neither on a pitch nor on streams.
        (a.state == Axis::State::found || (a.name != "pitch" && a.name != "streams")))
      parts.push_back(a.within);
  return fmt::format("{}", fmt::join(parts, "; "));
}

Contract contract_of(const Variant& v, const std::vector<Record>& records, const std::string& found,
                     const std::vector<std::string>& outside) {
  const Limits& l = v.limits;
  const Policy& policy = v.claim.policy;
  Contract c;
  c.found = found;
  c.outside = outside;
  const auto of = [&](const std::function<bool(const Record&)>& chosen) {
    Seen s;
    for (const Record& r : records)
      if (!r.group.empty() && chosen(r)) s.add(r);
    return s;
  };
  const auto any_of = [&](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(), [&](const char* w) { return says(found, w); });
  };
  const auto group = [](const char* name) {
    return [name](const Record& r) { return r.group == name && r.rows > 0 && r.V > 0; };
  };
  const auto family = [](const char* name) {
    return [name](const Record& r) { return r.group == "families" && r.family == name && r.V > 0; };
  };
  // Rows.
  std::string rows = fmt::format("rows >= {}", std::max<std::int64_t>(l.min_rows, 0));
  if (l.rows_multiple > 1) rows += fmt::format(", a multiple of {}", l.rows_multiple);
  if (l.max_rows > 0) rows += fmt::format(", at most {}", l.max_rows);
  const bool causal = v.claim.causal != Causal::no;
  if (causal) rows += ", a multiple of V: row r has columns 0 to r mod V";
  const bool few_rows = l.min_rows > 1 || l.rows_multiple > 1 || l.max_rows > 0;
  c.axes.push_back(
      axis("rows", of(group("rows")), rows, few_rows, any_of({"min_rows", "rows_multiple", "max_rows"})));
  // Row lengths.
  std::string lengths = fmt::format("V >= {}", l.min_V);
  if (l.V_in.count > 0) {
    lengths = "V one of";
    for (int i = 0; i < l.V_in.count; ++i)
      lengths += fmt::format("{} {}", i == 0 ? "" : ",", l.V_in.all[static_cast<std::size_t>(i)]);
  } else if (l.V_multiple > 1) {
    lengths = fmt::format("V a multiple of {}", l.V_multiple);
    if (l.min_V > l.V_multiple) lengths += fmt::format(", at least {}", l.min_V);
  }
  const bool longest = l.max_V > 0 && l.max_V != INT32_MAX && l.V_in.count == 0;
  if (longest) lengths += fmt::format(", at most {}", l.max_V);
  // Squares soon exceed the number of elements that a case may have.
  std::int64_t longest_tried = 0;
  for (const Record& r : records)
    if (causal && r.group == "shapes" && r.status == Status::pass)
      longest_tried = std::max(longest_tried, r.V);
  if (longest_tried > 0) lengths += fmt::format(", tried up to {}", longest_tried);
  c.axes.push_back(axis("row length", of(group("shapes")), lengths,
                        l.min_V > 1 || longest || l.V_multiple > 1 || l.V_in.count > 0,
                        any_of({"min_V", "max_V", "V_multiple", "V_in"})));
  c.axes.push_back(axis("rows x V", of(group("big")),
                        l.max_elements > 0 ? fmt::format("rows x V at most {}", l.max_elements) : "any",
                        l.max_elements > 0, any_of({"max_elements"})));
  if (v.max_k > 0) {
    const bool limited = l.k_up_to_V || any_of({"max_k"});
    c.axes.push_back(axis("k", of([](const Record& r) { return r.k > 0 && r.V > 0 && r.rows > 0; }),
                          fmt::format("k at most {}{}", v.max_k, l.k_up_to_V ? " and V" : ""), limited,
                          any_of({"max_k", "k_up_to_V"})));
  }
  // Addresses.
  const auto layout = [](bool (*chosen)(const Setup&)) {
    return
        [chosen](const Record& r) { return r.group == "layout" && r.rows > 0 && r.V > 0 && chosen(r.setup); };
  };
  c.axes.push_back(axis("alignment", of(layout([](const Setup& s) { return s.off_alignment(); })),
                        l.alignment > 1 ? fmt::format("rows start at multiples of {} bytes", l.alignment)
                                        : "any address of an element",
                        l.alignment > 1, any_of({"alignment"})));
  c.axes.push_back(axis("pitch", of(layout([](const Setup& s) { return s.gap() > 0; })),
                        l.dense ? "dense rows" : "any pitch", l.dense, any_of({"dense"})));
  // Values. A row with some -inf and a finite logit is no special row: every caller relies on it.
  const Seen masks = of([](const Record& r) {
    return r.group == "families" && r.V > 0 &&
           (traits_of(r.family) & (trait::parts | trait::bottom)) == trait::parts;
  });
  c.axes.push_back(axis("-inf as a mask", masks, l.finite ? "finite logits" : "beside a finite logit",
                        l.finite, any_of({"finite"})));
  if (!l.finite) {
    const auto rule = [&](const char* what, const char* of_family, const char* word, const char* gives,
                          bool usual) {
      c.axes.push_back(axis(what, of(family(of_family)),
                            std::string(gives) == "any" ? fmt::format("no row of {}", what)
                                                        : fmt::format("{} gives {}", what, gives),
                            !usual || any_of({word}), any_of({word})));
    };
    rule("nothing but -inf", "all_neg_inf", "all_neg_inf",
         policy.all_neg_inf == NegInfRows::nan    ? "NaN"
         : policy.all_neg_inf == NegInfRows::zero ? "0"
                                                  : "any",
         policy.all_neg_inf == NegInfRows::nan);
    rule("+inf", "pos_inf", "pos_inf",
         policy.pos_inf == PosInfRows::nan        ? "NaN"
         : policy.pos_inf == PosInfRows::inf_only ? "NaN there and 0 elsewhere"
                                                  : "any",
         policy.pos_inf == PosInfRows::nan);
    rule("NaN", "nan", "nan", policy.nan == NanRows::nan ? "NaN" : "any", policy.nan == NanRows::nan);
  }
  c.axes.push_back(axis("size of logits", of(family(kMagnitudes)),
                        l.max_abs > 0 ? fmt::format("logits of at most {:g}", l.max_abs) : "any finite logit",
                        l.max_abs > 0, any_of({"max_abs"})));
  std::vector<std::string> arithmetic;
  if (any_of({"exp"})) arithmetic.push_back("an exp as exact as __expf");
  if (any_of({"epsilon"})) arithmetic.push_back(fmt::format("{:g} added to the sum", v.claim.epsilon));
  if (any_of({"numerators"})) arithmetic.push_back(fmt::format("numerators stored as {}", name(v.out())));
  if (!arithmetic.empty())
    c.axes.push_back(axis("arithmetic", {}, fmt::format("{}", fmt::join(arithmetic, ", ")), true, true));
  const Seen in_place =
      of([](const Record& r) { return r.group == "layout" && r.setup.kind() == SetupKind::in_place; });
  c.axes.push_back(axis("in place", in_place, v.claim.in_place ? "outputs may lie over the logits" : "",
                        v.claim.in_place, false));
  c.axes.push_back(axis("streams", of(group("streams")), v.own_stream ? "any stream" : "the default stream",
                        !v.own_stream, false));
  // Properties on which a caller does not rely: recorded, not judged.
  const auto empty = [&](const char* what, bool promised, const std::function<bool(const Record&)>& chosen,
                         const char* size) {
    Axis a{what};
    const Seen seen = of(chosen);
    a.state = seen.failed   ? Axis::State::wrong
              : !promised   ? Axis::State::not_promised
              : seen.passed ? Axis::State::holds
                            : Axis::State::not_tried;
    for (const Record& r : records)
      if (!promised && chosen(r) && !r.returned.empty()) {
        a.outside = r.returned;
        if (r.unpromised != Unpromised::came_back)
          c.outside.push_back(fmt::format("{}: {}", size, r.returned));
        break;
      }
    c.axes.push_back(std::move(a));
  };
  empty(
      "no rows", l.min_rows == 0,
      [](const Record& r) {
        return !r.group.empty() && r.rows == 0 && r.V > 0 && r.family != kProbeFamily &&
               r.family != "property";
      },
      "rows = 0");
  empty(
      "empty rows", l.min_V == 0,
      [](const Record& r) { return !r.group.empty() && r.V == 0 && r.rows > 0 && r.family != "property"; },
      "V = 0");
  return c;
}

}  // namespace assay::conformance

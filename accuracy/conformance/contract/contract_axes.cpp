// SPDX-License-Identifier: Apache-2.0
// The axes of a contract, as the records of a run and the limits of a kernel show them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "accuracy/conformance/contract/contract.hpp"
#include "accuracy/conformance/contract/limit_search.hpp"
#include "accuracy/conformance/deaths.hpp"
#include "accuracy/conformance/diagnosis/rules.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/declaration.hpp"

namespace assay::conformance {
namespace {

/// Whether records of an axis passed or failed.
struct Seen {
  bool passed = false, failed = false;
  void add(const Record& r) {
    passed = passed || r.status == Status::pass;
    failed = failed || fails(r);
  }
};

/// True if a limit of this axis is among those that were found.
bool is_found(const std::string& axis, const std::string& found, bool of_launches = false) {
  return std::ranges::any_of(kLimitWords, [&](const LimitWord& w) {
    return axis == w.axis && (w.of_launches || !of_launches) && says(found, w.word);
  });
}

/// The axes, one after the other.
class Axes {
 public:
  Axes(const Variant& v, const std::vector<Record>& records, const std::string& found,
       const std::vector<std::string>& outside)
      : v_(v), records_(records), causal_(v.claim.causal != Causal::no) {
    c_.found = found;
    c_.outside = outside;
  }

  Contract all() {
    sizes([](SizePart p) { return p == SizePart::rows; });
    sizes([](SizePart p) { return p == SizePart::V; });
    const auto of_elements = [](const Record& r) {
      return r.group == "big" && r.rows * r.V > std::int64_t{1} << 30;
    };
    add("rows x V", of(of_elements), l_.max_elements > 0,
        l_.max_elements > 0 ? fmt::format("rows x V at most {}", l_.max_elements) : "any");
    sizes([](SizePart p) { return p != SizePart::rows && p != SizePart::V; });
    add("alignment", layout([](const Setup& s) { return s.off_alignment(); }), l_.alignment > 1,
        l_.alignment > 1 ? fmt::format("rows start at multiples of {} bytes", l_.alignment)
                         : "any address of an element");
    add("pitch", layout([](const Setup& s) { return s.gap() > 0; }), l_.dense,
        l_.dense ? "dense rows" : "any pitch");
    values();
    arithmetic();
    add("in place",
        of([](const Record& r) { return r.group == "layout" && r.setup.kind() == SetupKind::in_place; }),
        v_.claim.in_place, v_.claim.in_place ? "outputs may lie over the logits" : "");
    add("streams", of(group("streams")), !v_.own_stream, v_.own_stream ? "any stream" : "the default stream");
    empty("no rows", "rows = 0", l_.min_rows == 0, [](const Record& r) {
      return !r.group.empty() && r.rows == 0 && r.V > 0 && r.family != kProbeFamily && r.family != "property";
    });
    empty("empty rows", "V = 0", l_.min_V == 0, [](const Record& r) {
      return !r.group.empty() && r.V == 0 && r.rows > 0 && r.family != "property";
    });
    return std::move(c_);
  }

 private:
  using Chosen = std::function<bool(const Record&)>;
  Seen of(const Chosen& chosen) const {
    Seen s;
    for (const Record& r : records_)
      if (!r.group.empty() && chosen(r)) s.add(r);
    return s;
  }
  Seen layout(bool (*chosen)(const Setup&)) const {
    return of([&](const Record& r) { return group("layout")(r) && chosen(r.setup); });
  }
  static Chosen group(const char* name) {
    return [name](const Record& r) { return r.group == name && r.rows > 0 && r.V > 0; };
  }
  static Chosen family(const char* name) {
    return [name](const Record& r) { return r.group == "families" && r.family == name && r.V > 0; };
  }

  void add(const char* name, const Seen& seen, bool limited, std::string within) {
    const Axis::State limit = is_found(name, c_.found) ? Axis::State::found : Axis::State::declared;
    c_.axes.push_back({name,
                       seen.failed   ? Axis::State::wrong
                       : limited     ? limit
                       : seen.passed ? Axis::State::holds
                                     : Axis::State::not_tried,
                       std::move(within)});
  }

  /// The numbers of the op's list. What limits a further one is not declared: it follows from what was seen.
  void sizes(bool (*chosen)(SizePart)) {
    for (const SizeInfo& s : info(v_.op).sizes) {
      if (!s.in_use || !chosen(s.part)) continue;
      if (s.part == SizePart::rows) rows(s);
      if (s.part == SizePart::V) lengths(s);
      if (s.part == SizePart::k)
        add(s.what, of([](const Record& r) { return r.k > 0 && r.V > 0 && r.rows > 0; }),
            l_.k_up_to_V || says(c_.found, "max_k"),
            fmt::format("{} at most {}{}", s.name, v_.max_k, l_.k_up_to_V ? " and V" : ""));
      if (s.part == SizePart::further) seen_size(s);
    }
  }

  /// The kernel is right up to one of the values that were tried, or from one on, and refuses the others.
  void seen_size(const SizeInfo& size) {
    std::set<std::int64_t> taken;
    std::map<std::int64_t, const Record*> refused;
    Seen seen;
    for (const Record& r : records_) {
      if (r.group.empty() || r.rows <= 0 || r.V <= 0) continue;
      const std::int64_t n = r.further[static_cast<std::size_t>(size.slot)];
      if (fails(r) && says_no(r))
        refused.emplace(n, &r);
      else
        seen.add(r);
      if (r.status == Status::pass) taken.insert(n);
    }
    const bool both = !refused.empty() && !taken.empty();
    const bool most = both && *taken.rbegin() < refused.begin()->first;
    const bool least = both && *taken.begin() > refused.rbegin()->first;
    seen.failed = seen.failed || (!refused.empty() && !most && !least);
    add(size.what, seen, false, "any");
    if (refused.empty()) return;
    Axis& a = c_.axes.back();
    if (!seen.failed) a.state = Axis::State::found;
    a.within = most    ? fmt::format("{} at most {}", size.name, *taken.rbegin())
               : least ? fmt::format("{} >= {}", size.name, *taken.begin())
                       : "";
    const auto& [n, r] = least ? *refused.rbegin() : *refused.begin();
    a.outside = fmt::format("{} = {} {}", size.name, n, what_it_said(*r));
  }

  void rows(const SizeInfo& size) {
    std::string rows = fmt::format("{} >= {}", size.name, std::max<std::int64_t>(l_.min_rows, 0));
    if (l_.rows_multiple > 1) rows += fmt::format(", a multiple of {}", l_.rows_multiple);
    if (l_.max_rows > 0) rows += fmt::format(", at most {}", l_.max_rows);
    if (causal_) rows += ", a multiple of V: row r has columns 0 to r mod V";
    add(size.what, of(group("rows")), l_.min_rows > 1 || l_.rows_multiple > 1 || l_.max_rows > 0, rows);
  }

  void lengths(const SizeInfo& size) {
    std::string lengths = fmt::format("{} >= {}", size.name, l_.min_V);
    if (l_.V_in.count > 0) {
      lengths = fmt::format("{} one of {}", size.name,
                            fmt::join(l_.V_in.all.begin(), l_.V_in.all.begin() + l_.V_in.count, ", "));
    } else if (l_.V_multiple > 1) {
      lengths = fmt::format("{} a multiple of {}", size.name, l_.V_multiple);
      if (l_.min_V > l_.V_multiple) lengths += fmt::format(", at least {}", l_.min_V);
    }
    const bool longest = l_.max_V > 0 && l_.max_V != INT32_MAX && l_.V_in.count == 0;
    if (longest) lengths += fmt::format(", at most {}", l_.max_V);
    // Squares soon exceed the number of elements that a case may have.
    std::int64_t longest_tried = 0;
    for (const Record& r : records_)
      if (causal_ && r.group == "shapes" && r.status == Status::pass)
        longest_tried = std::max(longest_tried, r.V);
    if (longest_tried > 0) lengths += fmt::format(", tried up to {}", longest_tried);
    add(size.what, of(group("shapes")), l_.min_V > 1 || longest || l_.V_multiple > 1 || l_.V_in.count > 0,
        lengths);
  }

  void values() {
    // A row with some -inf and a finite logit is no special row: every caller relies on it.
    const Seen masks = of([](const Record& r) {
      return r.group == "families" && r.V > 0 &&
             (traits_of(r.family) & (trait::parts | trait::bottom)) == trait::parts;
    });
    add("-inf as a mask", masks, l_.finite, l_.finite ? "finite logits" : "beside a finite logit");
    const Policy& policy = v_.claim.policy;
    if (!l_.finite) {
      rule("nothing but -inf", "all_neg_inf", policy.all_neg_inf == NegInfRows::nan,
           policy.all_neg_inf == NegInfRows::zero ? "0" : nullptr);
      const bool lse = v_.op == Op::lse;
      rule("+inf", "pos_inf", policy.pos_inf == (lse ? PosInfRows::inf_only : PosInfRows::nan),
           policy.pos_inf == PosInfRows::any ? nullptr
           : lse                             ? "NaN"
                                             : "NaN there and 0 elsewhere",
           lse ? "+inf" : "NaN");
      rule("NaN", "nan", policy.nan == NanRows::nan, nullptr);
    }
    add("size of logits", of(family(kMagnitudes)), l_.max_abs > 0,
        l_.max_abs > 0 ? fmt::format("logits of at most {:g}", l_.max_abs) : "any finite logit");
  }
  /// What such rows usually give; `gives`: what else they give, null if anything.
  void rule(const char* what, const char* of_family, bool usual, const char* gives,
            const char* usually = "NaN") {
    add(what, of(family(of_family)), !usual || says(c_.found, of_family),
        usual || gives ? fmt::format("{} gives {}", what, usual ? usually : gives)
                       : fmt::format("no row of {}", what));
  }

  void arithmetic() {
    std::vector<std::string> all;
    if (says(c_.found, "exp")) all.push_back("an exp as exact as __expf");
    if (says(c_.found, "epsilon")) all.push_back(fmt::format("{:g} added to the sum", v_.claim.epsilon));
    if (says(c_.found, "numerators")) all.push_back(fmt::format("numerators stored as {}", name(v_.out())));
    if (v_.claim.order == SlotOrder::any)
      c_.axes.push_back({"order of slots",
                         says(c_.found, "order") ? Axis::State::found : Axis::State::declared,
                         "slots in any order"});
    if (!all.empty())
      c_.axes.push_back({"arithmetic", Axis::State::found, fmt::format("{}", fmt::join(all, ", "))});
  }

  /// A property on which a caller does not rely: recorded, not judged.
  void empty(const char* what, const char* size, bool promised, const Chosen& chosen) {
    const Seen seen = of(chosen);
    Axis a{what, seen.failed   ? Axis::State::wrong
                 : !promised   ? Axis::State::not_promised
                 : seen.passed ? Axis::State::holds
                               : Axis::State::not_tried};
    for (const Record& r : records_)
      if (!promised && chosen(r) && !r.returned.empty()) {
        a.outside = r.returned;
        if (r.unpromised != Unpromised::came_back)
          c_.outside.push_back(fmt::format("{}: {}", size, r.returned));
        break;
      }
    c_.axes.push_back(std::move(a));
  }

  const Variant& v_;
  const Limits& l_ = v_.limits;
  const std::vector<Record>& records_;
  const bool causal_;
  Contract c_;
};

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
         a.name == "row length" || (a.state == Axis::State::wrong && is_found(a.name, found, true))) &&
        // Callers rely neither on a pitch nor on streams.
        (a.state == Axis::State::found || (a.name != "pitch" && a.name != "streams")))
      parts.push_back(a.within);
  return fmt::format("{}", fmt::join(parts, "; "));
}

Contract contract_of(const Variant& v, const std::vector<Record>& records, const std::string& found,
                     const std::vector<std::string>& outside) {
  return Axes(v, records, found, outside).all();
}

}  // namespace assay::conformance

// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/contract/contract.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>

#include "accuracy/conformance/contract/limit_search.hpp"
#include "accuracy/conformance/diagnosis/rules.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/conformance/run/conformance_run.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/declaration.hpp"

namespace assay::conformance {
namespace {

/// Each round finds one kind of limit. Failures that are left after this many rounds are not due to limits.
constexpr int kRounds = 8;

std::string joined(const std::string& a, const std::string& b) {
  return a.empty() ? b : b.empty() ? a : a + "; " + b;
}

/// True if a declaration has a pair "word=value" with this word.
bool says(const std::string& declaration, const std::string& word) {
  for (std::size_t at = declaration.find(word); at != std::string::npos;
       at = declaration.find(word, at + 1)) {
    const bool begins = at == 0 || declaration[at - 1] == ';' || declaration[at - 1] == ' ' ||
                        declaration[at - 1] == '\n' || declaration[at - 1] == '\t';
    std::size_t end = at + word.size();
    while (end < declaration.size() && declaration[end] == ' ') ++end;
    if (begins && end < declaration.size() && declaration[end] == '=') return true;
  }
  return false;
}

/// The place of a limit in the printed list: rows, row length V, alignment, the rest.
int order_of_limit(const std::string& word) {
  if (word.find("rows") != std::string::npos) return 0;
  if (word.find("V") != std::string::npos && word.rfind("k_", 0) != 0) return 1;
  return word.rfind("alignment=", 0) == 0 ? 2 : 3;
}

Variant declared(Variant v, const std::string& words) {
  if (!words.empty()) apply_declaration(words, v);
  return v;
}

/// One search for the contract of a kernel.
class Search {
 public:
  Search(const std::function<Variant()>& make, const ConformanceOptions& options, const std::string& said,
         const std::function<std::string(const std::string&)>& target_with)
      : new_(make), options_(options), said_(said), target_with_(target_with) {}

  ContractedResult run() {
    std::unique_ptr<ConformanceRun> last = again(options_.extent);
    const Variant variant = make_();
    bool whole = true;  // `last` ran at the extent that the options ask for
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<Record>& records = last->records();
      if (std::none_of(records.begin(), records.end(), fails)) {
        if (whole) break;
        last.reset();                   // frees its worker
        last = again(options_.extent);  // has cases that the quick extent has not
        whole = true;
        continue;
      }
      // A launch that hangs is no refusal, and each that the search would try costs its wait.
      if (options_.hangs && options_.hangs->shown()) break;
      const std::vector<FoundLimit> more = next(records);
      if (more.empty()) break;
      add(more);
      last.reset();
      last = again(Extent::quick);
      whole = options_.extent == Extent::quick;
    }
    // The printed contract was run as if it had been declared, at the whole extent.
    ContractedResult out;
    const bool hangs = options_.hangs && options_.hangs->shown();  // then nothing more would be launched
    if (!whole && !hangs) {
      last.reset();
      last = again(options_.extent);
    }
    out.result = last->explained();
    last.reset();
    if (hangs) options_.hangs->leave();
    add_costly(out.result);
    out.contract = contract_of(declared(variant, found_), out.result.records, found_, outside_);
    return out;
  }

 private:
  /// Keeps the limits in one order, because a busy machine may find them in another.
  void add(const std::vector<FoundLimit>& more) {
    limits_.insert(limits_.end(), more.begin(), more.end());
    std::stable_sort(limits_.begin(), limits_.end(), [](const FoundLimit& a, const FoundLimit& b) {
      return order_of_limit(a.word) < order_of_limit(b.word);
    });
    found_.clear();
    outside_.clear();
    for (const FoundLimit& f : limits_) {
      found_ = joined(found_, f.word);
      outside_.push_back(f.outside);
    }
  }

  std::vector<FoundLimit> next(const std::vector<Record>& records) {
    const Variant v = declared(make_(), found_);
    // What the author declared is a promise, so it is not looked for. Two values are no promises: a max_V
    // that only says that an int holds the row length V, and the k with which a kernel is tried if none was
    // declared.
    const auto may = [&](const char* word) {
      const bool widest = (std::string_view(word) == "max_V" && v.limits.max_V == INT32_MAX) ||
                          (std::string_view(word) == "max_k" && v.max_k == kUndeclaredK);
      return (widest || !says(said_, word)) && !says(found_, word);
    };
    const Pilot pilot = [&](const std::string& words, const std::vector<std::string>& groups,
                            const Narrowing& narrow) {
      return narrowed(joined(found_, words), groups, narrow);
    };
    if (auto found = next_limits(v, records, may); !found.empty()) return found;
    if (auto found = next_value_limits(v, records, may, pilot); !found.empty()) return found;
    if (auto found = next_exp_class(v, records, may, pilot); !found.empty()) return found;
    return next_divisor_class(v, records, may, pilot);
  }

  /// Runs the groups of the check, under the limits found so far.
  std::unique_ptr<ConformanceRun> again(Extent extent, Part part = Part::cheap) {
    ConformanceOptions o = options_;
    o.extent = extent;
    o.part = part;
    if (!found_.empty()) o.target = target_with_(found_);
    o.run_name = fmt::format("{}|{}|{}", found_, static_cast<int>(extent), static_cast<int>(part));
    return std::make_unique<ConformanceRun>([&] { return declared(make_(), found_); }, o);
  }

  /// Throws InputError if there is no case at all.
  void add_costly(ConformanceResult& result) {
    ConformanceResult more =
        again(options_.extent, result.records.empty() ? Part::all : Part::costly)->explained();
    result.planned += more.planned;
    result.executed += more.executed;
    std::move(more.records.begin(), more.records.end(), std::back_inserter(result.records));
  }

  std::vector<Record> narrowed(const std::string& words, const std::vector<std::string>& groups,
                               const Narrowing& narrow) {
    ConformanceOptions o = options_;
    o.extent = Extent::quick;
    o.only = groups;
    o.also.clear();
    o.narrow = narrow;
    o.threads = 1;
    o.progress = {};
    o.keeper = nullptr;
    return ConformanceRun([&] { return declared(make_(), words); }, o).records();
  }

  /// A kernel whose worker is idle, or a new one. The search runs the groups many times, and a new worker
  /// process costs a second on a GPU, and several seconds in Python.
  Variant idle() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (const Variant& v : made_)
        if (v.launcher.use_count() == 1) return v;
    }
    Variant v = new_();
    if (!v.launcher) return v;
    const std::lock_guard<std::mutex> lock(mutex_);
    return made_.emplace_back(std::move(v));
  }

  const std::function<Variant()>& new_;
  const std::function<Variant()> make_ = [this] { return idle(); };
  std::mutex mutex_;
  std::vector<Variant> made_;
  const ConformanceOptions& options_;
  const std::string& said_;
  const std::function<std::string(const std::string&)>& target_with_;
  std::vector<FoundLimit> limits_;    // all that were found
  std::string found_;                 // their words
  std::vector<std::string> outside_;  // what was seen outside each
};

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
         a.name == "row length") &&
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
  const auto setup = [](const char* a, const char* b) {
    return [a, b](const Record& r) {
      return r.group == "layout" && r.rows > 0 && r.V > 0 &&
             (r.setup.starts_with(a) || (*b && r.setup.ends_with(b)));
    };
  };
  c.axes.push_back(axis("alignment", of(setup("offset_", "_off")),
                        l.alignment > 1 ? fmt::format("rows start at multiples of {} bytes", l.alignment)
                                        : "any address of an element",
                        l.alignment > 1, any_of({"alignment"})));
  c.axes.push_back(axis("pitch", of(setup("pitch_", "")), l.dense ? "dense rows" : "any pitch", l.dense,
                        any_of({"dense"})));
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
  const Seen in_place = of([](const Record& r) { return r.group == "layout" && r.setup == "in_place"; });
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
        if (r.returned != "the launch came back")
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

ContractedResult run_within_contract(const std::function<Variant()>& make, const ConformanceOptions& options,
                                     const std::string& declared,
                                     const std::function<std::string(const std::string& more)>& target_with) {
  return Search(make, options, declared, target_with).run();
}

}  // namespace assay::conformance

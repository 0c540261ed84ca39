// SPDX-License-Identifier: Apache-2.0
// Limits of the values: rows of only -inf, rows with +inf or NaN, and the size of finite logits.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "accuracy/case/case.hpp"
#include "accuracy/case/guarded.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/conformance/contract/limit_search.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/judge/row_judge.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/checker.hpp"

namespace assay::conformance {
namespace {

/// Logits of ordinary size are at most this; an additive mask, -1e4, is one of them.
constexpr int kOrdinary = 4;  // 10^4
/// No caller has numbers of this size, so outputs may be silently wrong from here on.
constexpr int kAbsurd = 10;  // 10^10

/// The outputs for the rows of a family that `wanted` chooses.
struct Returned {
  bool launched = false;
  std::string first;    // outputs of the first such row, in words
  bool silent = false;  // a row is finite and not all 0: nothing shows that it is wrong
};

Returned returned_for(const Variant& v, const std::string& family, std::int64_t V, std::int64_t rows,
                      const std::function<bool(const RowTruth&)>& wanted) {
  Returned out;
  const std::int64_t columns = nearest_V(v, V);
  const std::int64_t many = whole_squares(v, columns, nearest_rows(v.limits, rows));
  const Case inputs = make_case(family, v, columns, many, 1);
  Problem p = problem_of(v, v.op, many, columns,
                         selects(v.op) ? allowed_k(v, std::min(5, v.max_k), columns) : 0, columns);
  const Case& seen = as_seen_by(v, v.op, inputs);
  GuardedLaunch launch(v, p, seen.logits(), fitted(plain_layout(), v, p), {seen.gradients()});
  const LaunchOutcome outcome = launch.run();
  out.launched = outcome.ok();
  if (!outcome.ok()) {
    out.first = outcome.fault;
    return out;
  }
  for (std::int64_t r = 0; r < many; ++r) {
    // For a backward pass the row is the row of its logits.
    if (!wanted(seen.gradients() ? inputs.truth(r) : seen.truth(r))) continue;
    std::vector<double> values;
    const std::int64_t own = own_columns(v.claim, r, launch.problem().out_columns());
    for (std::int64_t j = 0; j < own; ++j) values.push_back(decode(v.out(), launch.value_bits(r, j)));
    if (out.first.empty()) out.first = describe_values(values);
    const bool zero =
        v.op != Op::lse && std::all_of(values.begin(), values.end(), [](double x) { return x == 0; });
    out.silent |=
        !zero && std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
  }
  return out;
}

struct Special {
  const char* family;
  const char* word;  // of a declaration
  std::array<const char*, 2> values;
  const char* outside;
  bool (*wanted)(const RowTruth& t);
};
constexpr Special kSpecial[] = {
    {"all_neg_inf",
     "all_neg_inf",
     {"zero", "any"},
     "a row of nothing but -inf",
     [](const RowTruth& t) { return t.kind == RowKind::all_neg_inf; }},
    {"pos_inf",
     "pos_inf",
     {"inf_only", "any"},
     "a row with +inf",
     [](const RowTruth& t) { return t.kind == RowKind::pos_inf; }},
    {"nan", "nan", {"any", ""}, "a row with a NaN", [](const RowTruth& t) { return t.kind == RowKind::nan; }},
};

/// The values that may explain such rows of this op. The lse of a row with +inf is +inf, unless declared.
std::array<const char*, 2> values_of(const Special& s, Op op) {
  if (op == Op::lse && std::string_view(s.word) == "pos_inf") return {"nan", "any"};
  return s.values;
}

}  // namespace

bool decided_by_values(const Record& r) {
  constexpr trait::Set kValues =
      trait::nan | trait::pos_inf | trait::all_neg_inf | trait::mixed | trait::large;
  if (traits_of(r.family) & kValues) return true;
  return r.group == "calls" || r.group == "big";
}

bool all_pass(const std::vector<Record>& records) {
  return std::none_of(records.begin(), records.end(), fails);
}

Narrowing of_family(const std::string& family) {
  Narrowing n;
  n.family = family;
  return n;
}

std::vector<FoundLimit> next_value_limits(const Variant& variant, const std::vector<Record>& records,
                                          const std::function<bool(const char* word)>& may,
                                          const Pilot& pilot) {
  // A kernel that is wrong for ordinary logits is not made right by a limit on them. (The group calls has
  // special rows between ordinary ones. The limit of the group big is looked for last.)
  if (std::any_of(records.begin(), records.end(), [](const Record& r) {
        return fails(r) && r.group != "calls" && r.group != "big" &&
               (r.family == "constant" || r.family.starts_with("normal_"));
      }))
    return {};
  std::vector<FoundLimit> found;
  const auto failing = [&](const std::string& family) {
    return std::any_of(records.begin(), records.end(), [&](const Record& r) {
      return fails(r) && r.group == "families" && r.family == family;
    });
  };
  std::string words;
  const auto add = [&](std::string word, std::string outside) {
    words += (words.empty() ? "" : "; ") + word;
    found.push_back({std::move(word), std::move(outside)});
  };
  for (const Special& s : kSpecial) {
    if (!failing(s.family) || !may(s.word)) continue;
    // A long row may take a different path from a short one.
    Returned back;
    back.launched = true;
    std::set<std::int64_t> lengths;
    for (const Record& r : records)
      if (fails(r) && r.group == "families" && r.family == s.family && r.V > 0 &&
          lengths.insert(r.V).second) {
        const Returned one = returned_for(variant, s.family, r.V, 8, s.wanted);
        back.launched = back.launched && one.launched;
        back.silent = back.silent || one.silent;
        if (back.first.empty()) back.first = one.first;
      }
    for (const char* const value : values_of(s, variant.op)) {
      if (!*value) continue;
      // Outputs that are not promised must be recognisable: a NaN among them, or only 0.
      if (std::string(value) == "any" && (!back.launched || back.silent)) continue;
      const std::string word = fmt::format("{}={}", s.word, value);
      if (!all_pass(pilot(words.empty() ? word : words + "; " + word, {"families"}, of_family(s.family))))
        continue;
      add(word, fmt::format("{} gives {}", s.outside, back.first));
      break;
    }
  }
  const bool large = std::any_of(records.begin(), records.end(), [](const Record& r) {
    return fails(r) && r.group == "families" && (traits_of(r.family) & trait::large) != 0;
  });
  if (large && may("max_abs")) {
    const auto good_at = [&](int decade) {
      const std::string word = fmt::format("max_abs=1e{}", decade);
      const std::string all = words.empty() ? word : words + "; " + word;
      for (const char* const family : {kMagnitudes, "far_below", "overflow", "mixed_magnitudes"})
        if (!all_pass(pilot(all, {"families"}, of_family(family)))) return false;
      return true;
    };
    const int most = static_cast<int>(std::floor(std::log10(max_finite(variant.dtype))));
    int good = kOrdinary, bad = most + 1;
    if (!good_at(good)) return found;
    while (bad - good > 1) {
      const int middle = good + (bad - good) / 2;
      (good_at(middle) ? good : bad) = middle;
    }
    const double limit = std::pow(10.0, good);
    const std::int64_t rows = report_rows(family_named(kMagnitudes), variant.dtype, 33, false);
    const Returned back = returned_for(variant, kMagnitudes, 33, rows, [&](const RowTruth& t) {
      return !t.x.empty() && std::fabs(t.m) > limit;
    });
    if (back.launched && (good >= kAbsurd || !back.silent))
      add(fmt::format("max_abs=1e{}", good),
          fmt::format("logits beyond 1e{} give {}{}", good, back.first,
                      back.silent ? ", and nothing says that it is wrong" : ""));
  }
  return found;
}

std::vector<FoundLimit> next_order_class(const Variant& variant, const std::vector<Record>& records,
                                         const std::function<bool(const char* word)>& may,
                                         const Pilot& pilot) {
  if (!selects(variant.op) || variant.claim.order == SlotOrder::any || !may("order")) return {};
  const Record* first = nullptr;
  std::int64_t sorted = 0, others = 0;  // rows of several slots, of logits that nearly all differ
  for (const Record& r : records) {
    if (decided_by_values(r)) continue;
    const bool tells = r.k > 1 && r.V > 1 && (r.family.starts_with("normal_") || r.family == kShifted);
    if (tells) ++(fails(r) ? others : sorted);
    if (!fails(r)) continue;
    for (const CheckResult& c : r.checks)
      if (c.failed > 0 && c.check != Check::order && c.check != Check::property) return {};
    if (r.status != Status::fail) return {};
    if (tells && !first) first = &r;
  }
  // A kernel that sorts as a rule, and not somewhere, is wrong there.
  if (!first || others <= sorted) return {};
  for (const char* const family : {"normal_1", "ties", "constant"})
    if (!all_pass(pilot("order=any", {"families"}, of_family(family)))) return {};
  return {{"order=any", fmt::format("slots are in another order than the largest first ({})",
                                    find_check(*first, Check::order)->detail)}};
}

std::vector<FoundLimit> next_exp_class(const Variant& variant, const std::vector<Record>& records,
                                       const std::function<bool(const char* word)>& may, const Pilot& pilot) {
  if (variant.claim.exp != Exp::accurate || variant.claim.internals != Internals::f32 || !may("exp"))
    return {};
  const Record* worst = nullptr;
  std::vector<std::string> families, of_values;
  for (const Record& r : records) {
    if (!fails(r)) continue;
    // Only if outputs are off, and only slightly. What a limit of the values may explain is looked at after
    // that: a kernel can have both.
    const bool off = r.status == Status::fail && r.worst && std::isfinite(r.worst->got) &&
                     std::all_of(r.checks.begin(), r.checks.end(), [](const CheckResult& c) {
                       return c.failed == 0 || c.check == Check::element || c.check == Check::coherence ||
                              c.check == Check::row_sum || c.check == Check::claim;
                     });
    if (!off && !decided_by_values(r) && !find_check(r, Check::property)) return {};
    if (!off || r.group != "families" || r.family == kProbeFamily) continue;
    std::vector<std::string>& mine = decided_by_values(r) ? of_values : families;
    if (std::find(mine.begin(), mine.end(), r.family) == mine.end()) mine.push_back(r.family);
    if (!worst || r.worst->ulp_error > worst->worst->ulp_error) worst = &r;
  }
  if (families.empty()) families = of_values;
  if (!worst) return {};
  for (const std::string& family : families)
    if (!all_pass(pilot("exp=fast", {"families"}, of_family(family)))) return {};
  return {{"exp=fast", fmt::format("an exp that is {:.3g} ulp off at {:.3g} nats below the maximum",
                                   worst->worst->ulp_error, std::fabs(worst->worst->distance))}};
}

// Two classes of arithmetic that are looked for last: epsilon in the divisor, and numerators stored in the
// outputs' type.

namespace {

/// True for a check that fails if outputs are slightly off.
bool shows_it(const Record& r, Check c) {
  return c == Check::element || c == Check::coherence || c == Check::row_sum || c == Check::normalizer ||
         c == Check::claim || c == Check::property || (c == Check::special && r.V == 1);
}

/// Failing cases whose outputs are only slightly off. Empty if anything else fails as well.
struct Off {
  std::vector<const Record*> records;
  std::set<std::string> families;  // those of the group families
  std::set<std::int64_t> lengths;  // of the group shapes
};
Off only_off(const std::vector<Record>& records, bool of_values) {
  Off off;
  for (const Record& r : records) {
    if (decided_by_values(r) && !of_values) continue;
    // Outputs that are off may also make a case undecided; it is run again under the limits that are found.
    if (!fails(r) || r.status == Status::inconclusive) continue;
    bool shown = false, other = false;
    for (const CheckResult& c : r.checks) {
      if (c.failed == 0) continue;
      // If outputs are off, their sum is measured in separate launches. These say nothing about the case.
      if (c.of_measurement) continue;
      (shows_it(r, c.check) ? shown : other) = true;
    }
    if (r.family == kProbeFamily || find_check(r, Check::property)) continue;
    if (r.status != Status::fail || !shown || other || !r.worst || !std::isfinite(r.worst->got)) {
      if (decided_by_values(r)) continue;
      return {};
    }
    off.records.push_back(&r);
    if (r.group == "families") off.families.insert(r.family);
    if (r.group == "shapes") off.lengths.insert(r.V);
  }
  return off;
}

/// Runs the failing families under these words, or else the shortest failing length; true if they pass.
bool explains(const Pilot& pilot, const Off& off, const std::string& words) {
  for (const std::string& family : off.families)
    if (!all_pass(pilot(words, {"families"}, of_family(family)))) return false;
  if (!off.families.empty()) return true;
  if (off.lengths.empty()) return false;
  Narrowing shortest;
  shortest.V = *off.lengths.begin();
  return all_pass(pilot(words, {"shapes"}, shortest));
}

/// The sums that follow from the record's worst output: from its exact value, and from the value that came
/// back.
struct Sums {
  double exact = 0, got = 0;
  double beside() const { return std::isfinite(got) && got > exact ? got - exact : 0; }
};
Sums sums_of(const Variant& v, const Record& r) {
  const WorstElement& w = *r.worst;
  // Without a maximum the sum is a sum of e^x.
  const double d = v.claim.shift == Shift::none ? w.logit : w.distance;
  const auto of = [&](double value) {
    if (v.op == Op::lse) return std::exp(v.claim.shift == Shift::none ? value : value - w.logit);
    return log_probabilities(v.op) ? std::exp(d - value) : std::exp(d) / value;
  };
  return {of(0.5 * (w.exact_lo + w.exact_hi)), of(w.got)};
}

constexpr int kLeastDecade = -8, kMostDecade = -2;

/// Numbers that an author may have written, smallest first: powers of ten near the estimate, and the estimate
/// to one digit.
std::vector<std::string> written_near(double estimate) {
  std::vector<std::pair<double, std::string>> all;
  const int decade = static_cast<int>(std::floor(std::log10(estimate)));
  const auto add = [&](int digit, int of) {
    if (of < kLeastDecade || of > kMostDecade) return;
    all.emplace_back(digit * std::pow(10.0, of), fmt::format("{}e{}", digit, of));
  };
  for (int d = decade - 1; d <= decade + 2; ++d) add(1, d);
  const auto digit = static_cast<int>(std::lround(estimate / std::pow(10.0, decade)));
  if (digit > 1 && digit < 10) add(digit, decade);
  std::sort(all.begin(), all.end());
  std::vector<std::string> words;
  for (const auto& [value, word] : all)
    if (value <= 0.01) words.push_back(word);
  return words;
}

/// The estimate from the smallest sum, where epsilon shows most.
double estimated(const Variant& v, const Off& off) {
  double least = std::numeric_limits<double>::infinity(), estimate = 0;
  for (const Record* r : off.records)
    if (const Sums s = sums_of(v, *r); s.beside() > 0 && s.exact < least)
      least = s.exact, estimate = s.beside();
  return estimate;
}

std::vector<FoundLimit> epsilon_class(const Variant& v, const Off& off,
                                      const std::function<bool(const char*)>& may, const Pilot& pilot) {
  if (v.claim.epsilon > 0 || v.op == Op::topk || !may("epsilon")) return {};
  const double estimate = estimated(v, off);
  if (estimate == 0) return {};
  const bool fast_too = v.claim.exp == Exp::accurate && v.claim.internals == Internals::f32 && may("exp");
  for (const std::string& number : written_near(estimate)) {
    const std::string word = "epsilon=" + number;
    const FoundLimit found{word, "outputs that fit a sum that is " + number + " more"};
    if (explains(pilot, off, word)) return {found};
    if (fast_too && explains(pilot, off, "exp=fast; " + word))
      return {{"exp=fast", "an exp that is as far off as __expf"}, found};
  }
  return {};
}

std::vector<FoundLimit> numerators_class(const Variant& v, const Off& off,
                                         const std::function<bool(const char*)>& may, const Pilot& pilot) {
  if (v.claim.numerators != Numerators::arithmetic || v.op != Op::softmax || !may("numerators")) return {};
  if (v.claim.algorithm == Algorithm::naive || v.claim.rescale_threshold > 0) return {};
  if (v.claim.normalise == Normalise::kept && !may("normalise")) return {};
  if (v.claim.internals != Internals::f32 || (v.out() != Dtype::f16 && v.out() != Dtype::bf16)) return {};
  if (!explains(pilot, off, "numerators=output")) return {};
  return {{"numerators=output",
           fmt::format("outputs that fit exps rounded to {} before the division", name(v.out()))}};
}

}  // namespace

std::vector<FoundLimit> next_divisor_class(const Variant& variant, const std::vector<Record>& records,
                                           const std::function<bool(const char* word)>& may,
                                           const Pilot& pilot) {
  // Rows that a limit of the values may explain are used only if no others are off.
  Off off = only_off(records, false);
  if (off.records.empty()) off = only_off(records, true);
  if (off.records.empty()) return {};
  if (auto found = numerators_class(variant, off, may, pilot); !found.empty()) return found;
  return epsilon_class(variant, off, may, pilot);
}

}  // namespace assay::conformance

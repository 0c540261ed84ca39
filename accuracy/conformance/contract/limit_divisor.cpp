// SPDX-License-Identifier: Apache-2.0
// Two classes of arithmetic that are looked for last: epsilon in the divisor, and numerators stored in the
// outputs' type.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "accuracy/conformance/contract/limit_search.hpp"
#include "accuracy/verdict/behaves_like.hpp"

namespace assay::conformance {
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

// SPDX-License-Identifier: Apache-2.0
// Finds the shortest rule: of all clauses and pairs of clauses, the one that describes the failing cases in
// the fewest bits.
#include "accuracy/conformance/diagnosis/rules.hpp"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace assay::conformance {
namespace {

/// The bits needed to say which b of n cases fail, b included.
double bits_of(std::int64_t n, std::int64_t b) {
  if (n == 0) return 0;
  const auto lg = [](std::int64_t x) { return std::lgamma(static_cast<double>(x) + 1) / std::log(2.0); };
  return lg(n) - lg(b) - lg(n - b) + std::log2(static_cast<double>(n) + 1);
}

/// The least cost of a second rule: one fault is the simpler explanation of cases that two rules fit.
constexpr double kAnotherRule = 24;
/// The cost of saying that a rule has two clauses, and which.
constexpr double kAnotherClause = 3;

class RuleSearch {
 public:
  RuleSearch(const Cases& bad, const Cases& good) : bad_(bad), good_(good), clauses_(clauses_of(bad, good)) {}

  Rule best() {
    const auto n_bad = static_cast<std::int64_t>(bad_.size()),
               n_good = static_cast<std::int64_t>(good_.size());
    const auto bits = [&](double own, std::int64_t bad_in, std::int64_t good_in) {
      const std::int64_t bad_out = n_bad - bad_in, good_out = n_good - good_in;
      return own + bits_of(bad_in + good_in, bad_in) + bits_of(bad_out + good_out, bad_out) +
             (bad_out > 0 ? kAnotherRule : 0);
    };
    const Clause *first = nullptr, *second = nullptr;
    double least = bits(1, n_bad, n_good);
    for (const Clause& c : clauses_)
      if (const double b = bits(c.bits, c.bad_in, c.good_in); c.bad_in > 0 && b < least)
        least = b, first = &c;
    for (std::size_t i = 0; i < clauses_.size(); ++i)
      for (std::size_t j = i + 1; j < clauses_.size(); ++j) {
        const Clause &a = clauses_[i], &b = clauses_[j];
        const double own = a.bits + b.bits + kAnotherClause;
        if (own >= least || !may_go_together(a, b)) continue;
        const std::int64_t bad_in = a.bad.count_with(b.bad);
        if (2 * bad_in < n_bad && n_bad > 4) continue;
        if (const double all = bits(own, bad_in, a.good.count_with(b.good)); all < least)
          least = all, first = &a, second = &b;
      }
    return rule_of(first, second, least);
  }

 private:
  static bool may_go_together(const Clause& a, const Clause& b) {
    const bool V = about_V(a.pattern), W = about_V(b.pattern);
    // Two families, or two setups, never hold together. A remainder may begin or end at some length.
    const auto threshold = [](Pattern p) {
      return p == Pattern::V_from || p == Pattern::V_to || p == Pattern::band;
    };
    const auto rest = [](Pattern p) { return p == Pattern::V_rest || p == Pattern::V_no_multiple; };
    if (V && W) return (threshold(a.pattern) && rest(b.pattern)) || (threshold(b.pattern) && rest(a.pattern));
    const auto family = [](Pattern p) {
      return p == Pattern::family || p == Pattern::family_class || about_maximum(p);
    };
    if (family(a.pattern) && family(b.pattern)) return false;
    if (about_setup(a.pattern) && about_setup(b.pattern)) return false;
    // Each family has its own number of rows.
    if ((family(a.pattern) && about_rows(b.pattern)) || (family(b.pattern) && about_rows(a.pattern)))
      return false;
    return a.pattern != b.pattern;
  }

  Rule rule_of(const Clause* a, const Clause* b, double bits) const {
    Rule r;
    r.bits = bits;
    r.bad.assign(bad_.size(), true);
    r.good.assign(good_.size(), true);
    r.bad_in = static_cast<std::int64_t>(bad_.size()), r.good_in = static_cast<std::int64_t>(good_.size());
    if (!a) return r;
    // The clause about the row length comes last, and names the cause. If both are about it, the remainder
    // comes last.
    if (b && (b->pattern < a->pattern)) std::swap(a, b);
    if (b && about_V(a->pattern) && about_V(b->pattern) && b->pattern != Pattern::V_rest &&
        b->pattern != Pattern::V_no_multiple)
      std::swap(a, b);
    const Clause& main = b ? *b : *a;
    r.pattern = main.pattern;
    r.number = main.number;
    r.family_class = a->family_class >= 0 ? a->family_class : b ? b->family_class : -1;
    r.words = a->words;
    r.every = b || a->pattern != Pattern::single_V;
    if (b) r.with = a->pattern, r.words += (about_V(a->pattern) ? " and " : ", ") + b->words;
    const CaseSet bad = b ? a->bad.with(b->bad) : a->bad, good = b ? a->good.with(b->good) : a->good;
    for (std::size_t i = 0; i < bad_.size(); ++i) r.bad[i] = bad.has(i);
    for (std::size_t i = 0; i < good_.size(); ++i) r.good[i] = good.has(i);
    r.bad_in = bad.count(), r.good_in = good.count();
    return r;
  }

  const Cases &bad_, &good_;
  std::vector<Clause> clauses_;
};

}  // namespace

Rule shortest_rule(const Cases& bad, const Cases& good) { return RuleSearch(bad, good).best(); }

}  // namespace assay::conformance

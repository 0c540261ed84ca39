// SPDX-License-Identifier: Apache-2.0
// Collects the clauses that the given cases suggest, each with the number of bits needed to state it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/conformance/diagnosis/rules.hpp"
#include "reference/formats.hpp"
#include "reference/problem.hpp"

namespace assay::conformance {

// ---- the address of a case's rows: the setups of group `layout` name it ----

static std::int64_t size_of_element(const Record& r) {
  const auto dtype = parse_dtype(r.dtype.substr(0, r.dtype.find(':')));
  return dtype ? static_cast<std::int64_t>(size_of(*dtype)) : 4;
}
std::int64_t base_of(const Record& r) {
  // The second launch of every case of `families` is one element off alignment.
  if (r.group == "families") return size_of_element(r);
  if (r.setup.kind() == SetupKind::offset) return r.setup.number();
  return r.setup.off_alignment() ? size_of_element(r) : 0;
}
std::int64_t pitch_of(const Record& r) {
  const std::int64_t gap = r.group == "families" ? 3 : r.setup.gap();
  return (r.V + gap) * size_of_element(r);
}

namespace {

// If two classes hold for the same cases, the first is taken.
constexpr FamilyClass kClasses[] = {
    {"of nothing above the lowest number", "a finite number stands in for -inf", trait::bottom},
    {"with NaN", "a maximum that drops NaN (fmaxf does) hides it", trait::nan},
    {"with NaN or +inf", "NaN and +inf are handled otherwise than declared", trait::nan | trait::pos_inf},
    {"whose softmax is NaN unless declared otherwise", "special values are handled otherwise than declared",
     trait::nan | trait::pos_inf | trait::all_neg_inf},
    {"with +inf", "inf - inf, or a policy for +inf that was not declared", trait::pos_inf},
    {"of nothing but -inf", "-inf - -inf, or a policy for empty rows that was not declared",
     trait::all_neg_inf},
    {"with -inf", "a part of the row that is all -inf: exp(-inf - -inf) is NaN", trait::neg_inf},
    {"with parts all -inf", "a part of the row that is all -inf: exp(-inf - -inf) is NaN", trait::parts},
    {"with special values", "special values are handled otherwise than declared",
     trait::neg_inf | trait::pos_inf | trait::nan},
    {"whose lanes' or tiles' maxima lie far apart",
     "a wrong maximum, or a missing rescale, per lane, vector, thread or tile", trait::apart},
    {"whose first number or maximum comes late", "the maximum is not that of the whole row", trait::late},
    {"whose maximum rises along it", "the sum is not rescaled when the maximum rises", trait::settled, true},
    {"with ties", "equal logits are ordered otherwise than declared", trait::ties},
    {"that ascends slowly", "the running sum is rescaled by a biased or rounded factor at every step",
     trait::slow_rise},
    {"with subnormal outputs", "small results are flushed to zero", trait::subnormal},
    {"of wide range", "the exp is less accurate far below the maximum", trait::wide},
};

class Clauses {
 public:
  Clauses(const Cases& bad, const Cases& good) : bad_(bad), good_(good) { collect(); }

  std::vector<Clause> all() { return std::move(clauses_); }

 private:
  void add(Pattern pattern, std::string words, double bits, std::int64_t number,
           const std::function<bool(const Record&)>& holds, int family_class = -1);
  void collect();
  void places(const std::set<Setup>& bad, const std::set<Setup>& all);
  void classes(const std::set<std::string>& bad, const std::set<std::string>& all);
  /// The value of the row's maximum. In f32 exp(x) overflows above 88 and vanishes below -87. A maximum
  /// that starts at a finite number is wrong for rows below it, also if that number is the smallest positive
  /// one.
  void maxima();
  void rows(const std::set<std::int64_t>& bad, const std::set<std::int64_t>& all);
  void selected(const std::set<Pick>& bad, const std::set<Pick>& all);
  void lengths(const std::set<std::int64_t>& bad, const std::set<std::int64_t>& all,
               const std::map<std::string, std::set<std::int64_t>>& of_family);

  static double log2_of(std::size_t n) { return std::log2(static_cast<double>(std::max<std::size_t>(n, 2))); }

  const Cases &bad_, &good_;
  std::vector<Clause> clauses_;
};

void Clauses::add(Pattern pattern, std::string words, double bits, std::int64_t number,
                  const std::function<bool(const Record&)>& holds, int family_class) {
  CaseSet bad(bad_.size()), good(good_.size());
  for (std::size_t i = 0; i < bad_.size(); ++i)
    if (holds(*bad_[i])) bad.add(i);
  for (std::size_t i = 0; i < good_.size(); ++i)
    if (holds(*good_[i])) good.add(i);
  const std::int64_t bad_in = bad.count(), good_in = good.count();
  // A clause that holds for no failing case, or for every case, is no rule.
  if (bad_in == 0) return;
  if (bad_in == static_cast<std::int64_t>(bad_.size()) && good_in == static_cast<std::int64_t>(good_.size()))
    return;
  clauses_.push_back({pattern, std::move(words), number, bits, family_class, std::move(bad), std::move(good),
                      bad_in, good_in});
}

void Clauses::collect() {
  std::set<std::int64_t> bad_V, all_V, bad_rows, all_rows;
  std::set<Pick> bad_picks, all_picks;
  std::set<Setup> bad_places, all_places;
  std::set<std::string> bad_families, all_families;
  std::map<std::string, std::set<std::int64_t>> V_of_family;
  for (const Record* r : bad_) {
    bad_V.insert(r->V), bad_rows.insert(r->rows), bad_picks.insert(r->pick()),
        bad_places.insert(place_of(*r));
    bad_families.insert(r->family), V_of_family[r->family].insert(r->V);
  }
  all_V = bad_V, all_rows = bad_rows, all_picks = bad_picks, all_places = bad_places,
  all_families = bad_families;
  for (const Record* r : good_) {
    all_V.insert(r->V), all_rows.insert(r->rows), all_picks.insert(r->pick()),
        all_places.insert(place_of(*r));
    all_families.insert(r->family);
  }
  places(bad_places, all_places);
  classes(bad_families, all_families);
  maxima();
  rows(bad_rows, all_rows);
  selected(bad_picks, all_picks);
  lengths(bad_V, all_V, V_of_family);
}

void Clauses::places(const std::set<Setup>& bad, const std::set<Setup>& all) {
  if (all.size() < 2) return;
  const double which = log2_of(all.size());
  const bool crashes =
      std::any_of(bad_.begin(), bad_.end(), [](const Record* r) { return r->status == Status::crashed; });
  if (std::any_of(bad.begin(), bad.end(), [](const Setup& p) { return p.kind() == SetupKind::offset; }))
    for (const int bytes : {128, 64, 32, 16, 8, 4}) {
      add(Pattern::base_alignment, fmt::format("base address off a multiple of {} bytes", bytes), 3 + which,
          0, [bytes](const Record& r) { return base_of(r) % bytes != 0; });
      if (crashes)
        add(Pattern::base_alignment, fmt::format("row that starts off a multiple of {} bytes", bytes),
            3 + which, 0, [bytes](const Record& r) {
              return base_of(r) % bytes != 0 || (r.rows > 1 && pitch_of(r) % bytes != 0);
            });
    }
  if (std::any_of(bad.begin(), bad.end(), [](const Setup& p) { return p.gap() > 0; })) {
    add(Pattern::pitch_of_outputs, "case with a pitch of the outputs", 4 + which, 0,
        [](const Record& r) { return r.rows > 1 && (r.group == "families" || r.setup.gap_of_outputs()); });
    add(Pattern::pitch_of_logits, "case with a pitch of the logits", 4 + which, 0,
        [](const Record& r) { return r.rows > 1 && (r.group == "families" || r.setup.gap_of_logits()); });
  }
  // In the order of their texts, which decides between rules of one price.
  std::map<std::string, Setup> by_text;
  for (const Setup& p : bad) by_text.emplace(p.text(), p);
  std::set<std::string> sorts;
  for (const auto& [text, p] : by_text) {
    if (p.empty()) continue;
    add(Pattern::setup, "case " + text, 3 + which, 0, [p](const Record& r) { return place_of(r) == p; });
    if (const std::string sort = p.sort(); sort != text && sorts.insert(sort).second)
      add(Pattern::setup, "case " + sort + "*", 3 + which, 0,
          [sort](const Record& r) { return place_of(r).sort() == sort; });
  }
  if (bad.size() > 1 && bad.size() <= 6 && !bad.contains(Setup()))
    add(Pattern::setup, fmt::format("case {}", fmt::join(std::views::keys(by_text), ", ")),
        2 + which * static_cast<double>(bad.size()), 0,
        [bad](const Record& r) { return bad.contains(place_of(r)); });
}

void Clauses::classes(const std::set<std::string>& bad, const std::set<std::string>& all) {
  if (all.size() < 2) return;
  for (std::size_t i = 0; i < std::size(kClasses); ++i)
    // Each class costs slightly more than the one before it, so that ties are decided.
    add(
        Pattern::family_class, std::string("row ") + kClasses[i].words,
        (kClasses[i].without ? 12 : 4) + 0.01 * static_cast<double>(i), 0,
        [i](const Record& r) { return kClasses[i].has(r.family); }, static_cast<int>(i));
  const double which = log2_of(all.size());
  for (const std::string& f : bad)
    add(Pattern::family, "row of the family " + f, 9 + which / 2, 0,
        [f](const Record& r) { return r.family == f; });
  if (bad.size() > 1 && bad.size() <= 4)
    add(Pattern::family, fmt::format("row of the families {}", fmt::join(bad, ", ")),
        6 + (which + 2) * static_cast<double>(bad.size()), 0,
        [bad](const Record& r) { return bad.contains(r.family); });
}

void Clauses::maxima() {
  double above = INFINITY, below = -INFINITY, not_above_0 = -INFINITY, beyond = INFINITY;
  for (const Record* r : bad_) {
    if (!r->highest_maximum) continue;
    const double high = *r->highest_maximum, low = *r->lowest_maximum;
    if (high > 10) above = std::min(above, high);
    if (low < -10) below = std::max(below, low);
    if (low <= 0) not_above_0 = std::max(not_above_0, low);
    if (std::max(high, -low) > 10) beyond = std::min(beyond, std::max(high, -low));
  }
  const auto known = [](const Record& r) { return r.highest_maximum.has_value(); };
  for (const double most : std::set<double>{below, not_above_0})
    if (std::isfinite(most))
      add(Pattern::maximum_below, fmt::format("row whose maximum is {:.4g} or less", most), 8,
          static_cast<std::int64_t>(most),
          [=](const Record& r) { return known(r) && *r.lowest_maximum <= most; });
  if (std::isfinite(above))
    add(Pattern::maximum_above, fmt::format("row whose maximum is {:.4g} or more", above), 8,
        static_cast<std::int64_t>(above),
        [=](const Record& r) { return known(r) && *r.highest_maximum >= above; });
  if (std::isfinite(beyond))
    add(Pattern::maximum_far, fmt::format("row whose maximum is {:.4g} or more from zero", beyond), 8.01,
        static_cast<std::int64_t>(beyond), [=](const Record& r) {
          return known(r) && std::max(*r.highest_maximum, -*r.lowest_maximum) >= beyond;
        });
}

void Clauses::rows(const std::set<std::int64_t>& bad, const std::set<std::int64_t>& all) {
  if (all.size() < 2) return;
  const double which = log2_of(all.size());
  add(Pattern::rows_above, "case of several rows", 12, 1, [](const Record& r) { return r.rows > 1; });
  for (const std::int64_t n : bad)
    if (n > 2)
      add(Pattern::rows_above, fmt::format("case of {} rows or more", n), 12 + which, n,
          [n](const Record& r) { return r.rows >= n; });
  for (const std::int64_t q : {2, 4, 8, 16, 32})
    add(Pattern::rows_rest, fmt::format("case whose rows are no multiple of {}", q), 16, q,
        [q](const Record& r) { return r.rows % q != 0; });
  for (const int bits : {31, 32})
    add(Pattern::columns_times_rows, fmt::format("case of more than 2^{} elements", bits), 4, bits,
        [bits](const Record& r) {
          return static_cast<double>(r.rows) * static_cast<double>(r.V) > std::ldexp(1.0, bits);
        });
}

void Clauses::selected(const std::set<Pick>& bad, const std::set<Pick>& all) {
  if (all.size() < 2) return;
  const double which = log2_of(all.size());
  if (const auto op = parse_op(bad_.front()->op); op && keeps_a_set(*op)) {
    for (const Pick& pick : bad)
      add(Pattern::k, "case with " + words_of(*op, pick), 4 + which, 0,
          [pick](const Record& r) { return r.pick() == pick; });
    return;
  }
  add(Pattern::k, "case with k = V", 5, 0, [](const Record& r) { return r.k == r.V; });
  add(Pattern::k, "case with k above V", 5, 0, [](const Record& r) { return r.k > r.V; });
  for (const Pick& pick : bad) {
    const int k = pick.k;
    add(Pattern::k, fmt::format("case with k = {}", k), 4 + which, k,
        [k](const Record& r) { return r.k == k; });
    add(Pattern::k, fmt::format("case with k of {} or more", k), 4 + which, k,
        [k](const Record& r) { return r.k >= k; });
  }
}

void Clauses::lengths(const std::set<std::int64_t>& bad, const std::set<std::int64_t>& all,
                      const std::map<std::string, std::set<std::int64_t>>& of_family) {
  if (all.size() < 2) return;
  // For few lengths there is always a remainder that explains them.
  const bool some = all.size() > 3, many = all.size() >= 24;
  const double which = log2_of(all.size());
  std::set<std::int64_t> from = {*bad.begin()}, to = {*bad.rbegin()};
  for (const auto& [family, its] : of_family) from.insert(*its.begin()), to.insert(*its.rbegin());
  // When a block or a tile is full, the kernel may take another path.
  for (std::int64_t edge = 16; edge <= std::int64_t{1} << 20; edge *= 2)
    for (const std::int64_t V : bad) {
      if (V > edge && V <= edge + edge / 2) {
        from.insert(V);
        break;
      }
    }
  for (const std::int64_t V : bad)
    if (bad.size() <= 6 || V <= 1)
      add(Pattern::single_V, fmt::format("V = {}", V), V <= 1 ? 5 : 2 + which, V,
          [V](const Record& r) { return r.V == V; });
  if (some) {
    for (const std::int64_t V : from)
      add(Pattern::V_from, fmt::format("V from {} on", V),
          3 + (std::has_single_bit(static_cast<std::uint64_t>(std::max<std::int64_t>(V - 1, 1))) ? which / 2
                                                                                                 : which),
          V, [V](const Record& r) { return r.V >= V; });
    for (const std::int64_t V : to)
      add(Pattern::V_to, fmt::format("V up to {}", V), 3 + which, V,
          [V](const Record& r) { return r.V <= V; });
    const std::int64_t lo = *bad.begin(), hi = *bad.rbegin();
    if (lo < hi)
      add(Pattern::band, fmt::format("V from {} to {}", lo, hi), 3 + 2 * which, lo,
          [lo, hi](const Record& r) { return lo <= r.V && r.V <= hi; });
  }
  if (!many) return;
  const auto power = [](std::int64_t V) {
    return V > 0 && std::has_single_bit(static_cast<std::uint64_t>(V));
  };
  for (const std::int64_t d : {0, 1, -1})
    add(Pattern::V_power_of_two,
        d == 0   ? "V that is a power of two"
        : d == 1 ? "V one above a power of two"
                 : "V one below a power of two",
        6, d, [power, d](const Record& r) { return r.V > 1 && power(r.V - d); });
  for (const std::int64_t q : {2,  3,  4,  5,  6,   7,   8,   9,   10,  12,  16,  20,   24,
                               32, 48, 64, 96, 100, 128, 192, 256, 384, 512, 768, 1000, 1024}) {
    // Powers of two are cheaper, because vectors, warps and tiles have these sizes.
    const double own = power(q) ? 4 : 8;
    std::set<std::int64_t> rests;
    for (const std::int64_t V : bad)
      if (rests.size() < 3) rests.insert(V % q);
    for (const std::int64_t rest : rests)
      add(Pattern::V_rest, fmt::format("V with V % {} = {}", q, rest),
          own + std::log2(static_cast<double>(q)), q, [q, rest](const Record& r) { return r.V % q == rest; });
    add(Pattern::V_no_multiple, fmt::format("V that is no multiple of {}", q), own + 1, q,
        [q](const Record& r) { return r.V % q != 0; });
    add(Pattern::V_no_multiple, fmt::format("V above {0} that is no multiple of {0}", q), own + 2 + which / 2,
        q, [q](const Record& r) { return r.V % q != 0 && r.V > q; });
  }
}

}  // namespace

std::span<const FamilyClass> family_classes() { return kClasses; }

Setup place_of(const Record& r) {
  if (!r.setup.empty()) return r.setup;
  for (const char* group : {"repeat", "schedules", "batch"})
    if (r.group == group) return group;
  return {};
}

std::vector<Clause> clauses_of(const Cases& bad, const Cases& good) { return Clauses(bad, good).all(); }

}  // namespace assay::conformance

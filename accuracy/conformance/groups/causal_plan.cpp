// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/groups/causal_plan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "accuracy/conformance/groups/groups.hpp"

namespace assay::conformance {
namespace {

/// A second square is tried if both together have at most this many elements.
constexpr std::int64_t kMostOfSeveral = std::int64_t{1} << 21;

/// All cases of at most this many elements are tried.
constexpr std::int64_t kSmall = 1 << 14;

bool causal(const Variant& v) { return v.claim.causal != Causal::no; }

/// The most elements of one case, and of all cases of a group whose numbers of elements have the same number
/// of bits.
struct Budget {
  std::int64_t of_case, of_octave;
};
Budget budget(Extent extent) {
  switch (extent) {
    case Extent::quick:
      return {std::int64_t{1} << 22, std::int64_t{1} << 22};
    case Extent::normal:
      return {std::int64_t{1} << 24, std::int64_t{1} << 24};
    case Extent::full:
      return {std::int64_t{1} << 26, std::int64_t{1} << 27};
  }
  return {};
}

/// Replaces a long length by one just above 256 with the same remainder by 64.
std::int64_t shorter(const Variant& variant, std::int64_t V) {
  return V > 320 ? std::min(V, nearest_V(variant, 256 + V % 64)) : V;
}

/// True for groups that launch rows ten times or more, or in thirty layouts.
bool launches_again(std::string_view group) {
  constexpr std::array<std::string_view, 6> all = {"layout",  "repeat", "calls",
                                                   "streams", "batch",  "schedules"};
  return std::find(all.begin(), all.end(), group) != all.end();
}

/// Keeps a share of the cases of each size, evenly spread. Each variant is thinned on its own; those for
/// which `all_of` is true keep all cases.
template <class F>
void thin(std::vector<Unit>& units, std::int64_t of_octave, F all_of) {
  using Size = std::pair<const Variant*, int>;
  const auto size = [](const ConformanceCase& c) {
    const bool small = c.rows * c.V <= kSmall;
    return Size{c.variant, small ? 0 : std::bit_width(static_cast<std::uint64_t>(c.rows * c.V))};
  };
  std::map<Size, std::int64_t> count, seen;
  for (const Unit& u : units)
    for (const ConformanceCase& c : u.cases) ++count[size(c)];
  for (Unit& u : units)
    std::erase_if(u.cases, [&](const ConformanceCase& c) {
      const Size of = size(c);
      if (of.second == 0 || all_of(c)) return false;
      const std::int64_t all = count[of];
      const std::int64_t kept = std::clamp<std::int64_t>(of_octave >> (of.second - 1), 1, all);
      const std::int64_t i = seen[of]++;
      return i * kept / all == (i + 1) * kept / all;
    });
}

}  // namespace

std::int64_t whole_squares(const Variant& v, std::int64_t V, std::int64_t rows) {
  if (!causal(v) || V == 0 || rows % V == 0) return rows;
  const std::int64_t most = v.limits.max_rows > 0 ? v.limits.max_rows / V : rows;
  std::int64_t squares = std::max<std::int64_t>((rows + V - 1) / V, rows > 1 ? 2 : 1);
  squares = std::min({squares, most, kMostOfSeveral / V / V});
  return V * std::max<std::int64_t>(squares, 1);
}

void make_squares(const Planning& p, const char* group, std::vector<Unit>& units) {
  if (!causal(p.variant)) return;
  const Budget most = budget(p.extent);
  std::set<std::tuple<std::string, std::int64_t, std::int64_t, Op, Pick, Setup>> known;
  for (Unit& u : units) {
    std::erase_if(u.cases, [&](ConformanceCase& c) {
      if (c.V == 0) return true;  // there is no such square
      if (!p.narrow.V && launches_again(group)) c.V = shorter(p.variant, c.V);
      if (!p.narrow.rows) c.rows = whole_squares(p.variant, c.V, c.rows);
      const bool fits = c.rows <= most.of_case / c.V || p.narrow.V;
      return !fits || !known.emplace(c.family, c.V, c.rows, c.op, c.pick, c.setup).second;
    });
  }
  if (!p.narrow.V) thin(units, most.of_octave, [](const ConformanceCase&) { return false; });
  for (Unit& u : units) {
    double weight = 0;
    for (const ConformanceCase& c : u.cases) weight += weight_of(c.rows, c.V);
    u.weight = launches_again(group) ? 40 * weight : weight;
  }
}

void thin_squares(std::vector<Unit>& units) {
  thin(units, budget(Extent::quick).of_octave, [](const ConformanceCase& c) {
    return !causal(*c.variant) || c.V == 0 || c.rows % c.V != 0;  // not squares
  });
  std::erase_if(units, [](const Unit& u) { return u.cases.empty(); });
}

}  // namespace assay::conformance

// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/groups/groups.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/verdict/behaves_like.hpp"

namespace assay::conformance {

std::span<const Group> groups() {
  static constexpr Group all[] = {
      {"families", "Every input family: ordinary rows, wide ranges, ties and special values.", plan_families,
       false, Stage::first, true},
      {"shapes", "Every row length to 4096 and those where a dispatch may change: tails, tiles, vectors.",
       plan_shapes, false, Stage::first, true},
      {"operands", "Scale, temperature, mask, bias and lengths: the softmax of the logits that they make.",
       plan_operands, false, Stage::first, true},
      {"rows", "No row, one, and more than a grid's dimensions or the machine holds at once.", plan_rows,
       false, Stage::first, true},
      {"layout",
       "Pitch, alignment, guard bands, the end of a page, in place: reads and writes beside the rows.",
       plan_layout, false, Stage::first, true},
      {"repeat", "The same launch a hundred times: races and uninitialised memory.", plan_repeat, false,
       Stage::later, true},
      {"calls", "One call after another: state and results kept from call to call.", plan_calls, false,
       Stage::later},
      {"streams", "Two streams at once, inputs that arrive late, writes after the end.", plan_streams, false,
       Stage::later},
      {"batch", "The same row in other batches and places.", plan_batch, false, Stage::later, true},
      {"schedules", "Other orders of threads, warps and blocks (host executor).", plan_schedules, false,
       Stage::later},
      {"big",
       "Many rows of every length in use (on a GPU); more than 2^31 and 2^32 elements: offsets that 32 bits "
       "do not hold.",
       plan_big, false, Stage::later},
      {kLaunchesGroup,
       "A launch of each kind and nothing else, for a tool that watches: outputs are not judged.",
       plan_launches, true},
  };
  return all;
}

namespace {

/// Dense rows that all start aligned have a length that is a multiple of this.
std::int64_t multiple_of_aligned(const Variant& v) {
  const Limits& l = v.limits;
  std::int64_t all = l.V_multiple;
  if (!l.dense || l.alignment <= 1) return all;
  for (const Dtype t : {v.dtype, v.out()}) {
    if (t == v.out() && t != v.dtype && (selects(v.op) || one_value(v.op))) continue;
    const auto element = static_cast<std::int64_t>(size_of(t));
    all = std::lcm(all, l.alignment / std::gcd(l.alignment, element));
  }
  return all;
}

}  // namespace

std::int64_t nearest_V(const Variant& v, std::int64_t V, std::int64_t rows) {
  const Limits& l = v.limits;
  // Every kernel is tried on empty rows. A kernel that does not promise them is not judged by them.
  if (V == 0) return 0;
  if (l.V_in.count > 0) {
    for (int i = 0; i < l.V_in.count; ++i)
      if (l.V_in.all[static_cast<std::size_t>(i)] >= V) return l.V_in.all[static_cast<std::size_t>(i)];
    return l.V_in.all[static_cast<std::size_t>(l.V_in.count - 1)];
  }
  const auto nearest = [&](std::int64_t step) {
    const std::int64_t next = (std::max(V, l.min_V) + step - 1) / step * step;
    return l.max_V > 0 ? std::min(next, l.max_V / step * step) : next;
  };
  // Between the smallest and the largest length there may be no such multiple.
  if (rows > 1)
    if (const std::int64_t aligned = nearest(multiple_of_aligned(v));
        aligned >= std::max<std::int64_t>(1, l.min_V))
      return aligned;
  return nearest(l.V_multiple);
}

std::int64_t nearest_rows(const Limits& l, std::int64_t rows) {
  // More rows than this would fill the memory at any length. The cases of such a kernel report that they are
  // outside.
  constexpr std::int64_t kMost = 4096;
  return l.min_rows > kMost || l.rows_multiple > kMost ? rows : allowed_rows(l, rows);
}

std::vector<std::int64_t> sizes_of(const Planning& p, std::vector<std::int64_t> usual) {
  if (p.narrow.V) return {*p.narrow.V};
  std::vector<std::int64_t> sizes;
  for (const std::int64_t V : usual)
    if (const std::int64_t fits = nearest_V(p.variant, V);
        std::find(sizes.begin(), sizes.end(), fits) == sizes.end())
      sizes.push_back(fits);
  return sizes;
}

std::vector<std::int64_t> rows_of(const Planning& p, std::vector<std::int64_t> usual) {
  if (p.narrow.rows) return {*p.narrow.rows};
  std::vector<std::int64_t> rows;
  for (const std::int64_t n : usual)
    if (const std::int64_t fits = nearest_rows(p.variant.limits, n);
        std::find(rows.begin(), rows.end(), fits) == rows.end())
      rows.push_back(fits);
  return rows;
}

std::vector<std::string> families_of(const Planning& p, std::vector<std::string> usual) {
  if (p.narrow.family == kProbeFamily) return {};
  return p.narrow.family.empty() ? usual : std::vector<std::string>{p.narrow.family};
}

Op op_of(const Planning& p) { return p.narrow.op.value_or(p.variant.op); }

Pick pick_of(const Planning& p, std::int64_t V) {
  const Op op = op_of(p);
  return p.narrow.pick.of(
      op, selects(op) ? Pick(allowed_k(p.variant, std::min(5, p.variant.max_k), V)) : usual_pick(op));
}

int allowed_k(const Variant& v, int k, std::int64_t V) {
  return v.limits.k_up_to_V ? static_cast<int>(std::clamp<std::int64_t>(V, 1, k)) : k;
}

double weight_of(std::int64_t rows, std::int64_t V) {
  return static_cast<double>(rows) * (static_cast<double>(V) + 512);
}

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

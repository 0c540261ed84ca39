// SPDX-License-Identifier: Apache-2.0
// Probes of the shift: whether numerators use the final maximum, how x - m is computed, and by what a sum
// without a shift is divided.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "accuracy/probes/probes.hpp"
#include "reference/hash/draws.hpp"

namespace assay {

using namespace probe;

Observation probe_numerators(const Variant& v, const Terms& terms) {
  Observation o{.probe = "numerators"};
  if (terms.arithmetic == Dtype::f16) {
    o.skipped = "f16 has no room for exps that vanish beside 1";
    return o;
  }
  if (terms.tau > 20) {
    o.skipped = "rescales put off so far that the divisor is not 1";
    return o;
  }
  // Top-k returns at most k elements, so the others are -inf.
  const std::int64_t V = selects(v.op) ? 2049 : 4099;
  const std::int64_t step = selects(v.op) ? 64 : 1;
  const std::vector<double> ts = slope_arguments(v.dtype, -80, -34, selects(v.op) ? 8 : 64);
  std::vector<Sparse> rows(2);
  std::map<double, std::vector<std::int64_t>> columns;  // by logit
  std::uint64_t state = 1;
  for (std::int64_t j = step; j + 1 < V; j += step) {
    state = next_in_no_order(state);
    const double t = ts[(state >> 33) % ts.size()];
    for (Sparse& row : rows) row.emplace_back(j, t);
    columns[t].push_back(j);
  }
  rows[0].emplace_back(0, 0.0);
  rows[1].emplace_back(V - 1, 0.0);
  const Output got = launch_on(v, sparse_rows(v.dtype, V, rows), 64);
  if (!landed(o, got)) return o;
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  // With a smaller k, the rest of the row is not returned.
  const bool whole = !selects(v.op) || got.k >= static_cast<int>(rows[0].size());
  std::int64_t differ = 0, seen = 0;
  for (const auto& [t, at] : columns)
    for (int r = 0; r < 2; ++r)
      for (std::int64_t j : at) {
        const double first = got.at(0, at.front()), p = got.at(r, j);
        if (!whole && (std::isnan(first) || std::isnan(p))) continue;  // not selected
        ++seen;
        differ += !same(first, p);
        if (v.claim.normalise == Normalise::kept) continue;
        ++o.judged;
        if (!same(first, p))
          o.refute(
              fmt::format("the logit {} in rows with maximum 0 and divisor 1: {:a} in column {} with the "
                          "maximum first, {:a} in column {} with it {}; a recomputed numerator is one "
                          "function of x - m",
                          t, first, at.front(), p, j, r ? "last" : "first"));
      }
  if (seen == 0) {
    o.skipped = "k is too small to show two places of one logit";
    return o;
  }
  o.trait = differ ? "numerators kept" : "numerators recomputed";
  o.sharper = !differ && v.claim.normalise == Normalise::kept;
  o.saw = fmt::format("{} of {} outputs depend on their column or on the place of the maximum", differ, seen);
  return o;
}

Observation probe_shift(const Variant& v, const Terms& terms) {
  Observation o{.probe = "shift"};
  constexpr std::int64_t V = 64;
  // The dtype must hold every element, a multiple of 1/2 from c - 31.5 to c.
  std::vector<double> shifts;
  for (const double c : {0, 8, 96, -96, 1024})
    if (2 * std::max(c, 31.5 - c) <= std::ldexp(1.0, format(v.dtype).precision)) shifts.push_back(c);
  if (shifts.size() < 2) {
    o.skipped = fmt::format("{} holds no two such rows", name(v.dtype));
    return o;
  }
  std::vector<Sparse> rows;
  for (double c : shifts) {
    Sparse row;
    for (std::int64_t j = 0; j < V; ++j) row.emplace_back(j, c - 0.5 * static_cast<double>(j * 29 % V));
    rows.push_back(std::move(row));
  }
  const Output got = launch_on(v, sparse_rows(v.dtype, V, rows), static_cast<int>(V));
  if (!landed(o, got)) return o;
  const bool judge = terms.shifted && !terms.exp2 && v.claim.determinism != Determinism::not_guaranteed;
  bool none = false, same_all = true;
  std::string first;
  for (std::size_t r = 1; r < shifts.size(); ++r) {
    const auto row = static_cast<std::int64_t>(r);
    std::string where;
    for (std::int64_t j = 0; j < V && where.empty(); ++j) {
      const double a = got.at(0, j), b = got.at(row, j);
      if (a != b && !(std::isnan(a) && std::isnan(b)))
        where = fmt::format("column {} is {:a} without, {:a} with a shift by {}", j, a, b, shifts[r]);
    }
    if (where.empty() && got.sum(0) != got.sum(row))
      where = fmt::format("d is {:a} without, {:a} with a shift by {}", got.sum(0), got.sum(row), shifts[r]);
    same_all = same_all && where.empty();
    if (first.empty()) first = where;
    none = none || !std::isfinite(got.sum(row)) || got.sum(row) == 0;
    if (!judge) continue;
    ++o.judged;
    if (!where.empty())
      o.refute("every x and x + c is exact, so fl(x - m) is the same number in both rows: " + where);
  }
  o.trait = same_all ? "shift subtract" : none ? "shift none" : "shift rounded with the logit";
  o.sharper = same_all && (!terms.shifted || terms.exp2);
  o.saw = same_all ? fmt::format("same bits under {} shifts up to {:g}", shifts.size() - 1,
                                 *std::max_element(shifts.begin(), shifts.end()))
                   : first;
  return o;
}

Observation probe_far_divisor(const Variant& v) {
  Observation o{.probe = "far_divisor"};
  if (v.claim.shift != Shift::none) {
    o.skipped = "a shifted sum never passes 2^126";
    return o;
  }
  const Output got = launch_on(v, sparse_rows(v.dtype, 1, {{{0, 88.0}}}), 1);
  if (!landed(o, got)) return o;
  const double p = got.at(0, 0);
  o.saw = fmt::format("the row (88): d = {:.6g}, p = {}", got.sum(0), p);
  if (v.claim.division == Division::ieee) {
    ++o.judged;
    if (p != 1)
      o.refute(fmt::format("the row (88) is e/e with e = {:.6g}, exactly 1 when correctly rounded; it is {}",
                           got.sum(0), p));
  }
  return o;
}

}  // namespace assay

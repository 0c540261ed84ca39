// SPDX-License-Identifier: Apache-2.0
// Probes of the shift, and of policies, not of arithmetic: repeats and positions in a batch, special values,
// and how top-k selects.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "accuracy/judge/row_judge.hpp"
#include "accuracy/probes/probes.hpp"
#include "reference/hash/draws.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {
namespace {

using namespace probe;

bool same(const std::vector<double>& a, std::size_t at, const std::vector<double>& b, std::size_t from,
          std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const double x = a[at + i], y = b[from + i];
    if (x != y && !(std::isnan(x) && std::isnan(y))) return false;
  }
  return true;
}

/// One row at three places of a batch; then the same with another schedule, and on one block.
Observation repeats(const Variant& v) {
  Observation o{.probe = "repeats"};
  constexpr std::int64_t V = 1025;
  const Tensor one = make_input(*find_family("normal_10"), v.dtype, V, 1, 1);
  Tensor batch(v.dtype, 3, V);
  for (std::int64_t r = 0; r < 3; ++r) std::memcpy(batch.row(r), one.row(0), one.bytes.size());
  const Output a = launch_on(v, batch, 5), b = launch_on(v, batch, 5, {0x5eed, 0}), c = launch_on(v, one, 5);
  if (!landed(o, a) || !landed(o, b) || !landed(o, c)) return o;
  const auto n = static_cast<std::size_t>(V);
  const bool again = same(a.value, 0, b.value, 0, 3 * n) && a.d == b.d;
  bool anywhere = same(a.value, 0, c.value, 0, n);
  for (std::size_t r = 1; r < 3; ++r)
    anywhere = anywhere && same(a.value, 0, a.value, r * n, n) && (a.d.empty() || a.d[0] == a.d[r]);
  o.trait = again ? anywhere ? "same bits at every batch position tried" : "repeats itself"
                  : "does not repeat itself";
  o.saw = fmt::format("a row of {} at three places of a batch, alone, and again under another schedule", V);
  if (v.claim.determinism != Determinism::not_guaranteed) {
    ++o.judged;
    if (!again) o.refute("two launches on the same inputs and layout differ");
    if (v.claim.batch_invariant) {
      ++o.judged;
      if (!anywhere) o.refute("the same row at another place of a batch, or alone, has other bits");
    }
  }
  return o;
}

/// Rows that the policies are about. Family rows judge the policies; here they are described in words.
Observation special(const Variant& v) {
  Observation o{.probe = "special"};
  constexpr std::int64_t V = 33;
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::vector<Sparse> rows(3);
  for (std::int64_t j = 0; j < V; ++j) {
    rows[0].emplace_back(j, -inf);
    rows[1].emplace_back(j, j == 7 ? inf : 0.5);
    rows[2].emplace_back(j, j == 7 ? std::numeric_limits<double>::quiet_NaN() : 0.5);
  }
  const Output got = launch_on(v, sparse_rows(v.dtype, V, rows), selects(v.op) ? 5 : 0);
  if (!landed(o, got)) return o;
  const char* what[] = {"all -inf", "one +inf", "one NaN"};
  for (std::size_t r = 0; r < 3; ++r) {
    std::vector<double> values;
    for (std::int64_t j = 0; j < V; ++j) {
      const double x = got.at(static_cast<std::int64_t>(r), j);
      bool selected = !selects(v.op);
      for (int i = 0; i < got.k; ++i)
        selected =
            selected || got.indices[r * static_cast<std::size_t>(got.k) + static_cast<std::size_t>(i)] == j;
      if (selected) values.push_back(x);
    }
    o.saw += fmt::format("{}{}: {}", r ? "; " : "", what[r], describe_values(values));
  }
  return o;
}

/// Equal logits; then logits that are not equal but have equal probabilities.
Observation selection(const Variant& v) {
  Observation o{.probe = "selection"};
  constexpr std::int64_t V = 33;
  const int slots = std::min(5, v.max_k);
  std::vector<Sparse> rows(2);
  // Increases in steps that vanish in exp(x - m); f16 has no such steps.
  for (std::int64_t j = 0; j < V; ++j) {
    rows[0].emplace_back(j, 0.25);
    rows[1].emplace_back(j, static_cast<double>(j - V) * 0x1p-40);
  }
  const Output got = launch_on(v, sparse_rows(v.dtype, V, rows), slots);
  if (!landed(o, got)) return o;
  // Slots in any order are looked at in the order that each question expects.
  const auto index = [&](int row, int slot, bool fall) {
    const auto begin = got.indices.begin() + row * slots;
    std::vector<std::int64_t> all(begin, begin + slots);
    if (v.claim.order == SlotOrder::any) std::sort(all.begin(), all.end());
    if (v.claim.order == SlotOrder::any && fall) std::reverse(all.begin(), all.end());
    return all[static_cast<std::size_t>(slot)];
  };
  bool rising = true, falling = true, by_logit = true, by_prob = true;
  for (int i = 0; i < slots; ++i) {
    rising = rising && index(0, i, false) == i;
    falling = falling && index(0, i, true) == V - 1 - i;
    by_logit = by_logit && index(1, i, true) == V - 1 - i;
    by_prob = by_prob && index(1, i, false) == i;
  }
  o.trait = rising ? "ties to the smaller index" : falling ? "ties to the larger index" : "ties in no order";
  if (v.dtype != Dtype::f16)
    o.trait += by_logit ? ", selects logits" : by_prob ? ", selects probabilities" : "";
  o.saw = fmt::format("the first of {} equal logits is column {}", V, index(0, 0, !rising));
  if (v.dtype != Dtype::f16)
    o.saw += fmt::format(", of as many rising by 2^-40 column {}", index(1, 0, by_logit));
  if (v.claim.ties != Ties::unspecified) {
    ++o.judged;
    if (!(v.claim.ties == Ties::smaller_index ? rising : falling)) {
      ++o.refuted;
      o.proof = fmt::format("{} equal logits under ties {}: slot 0 holds column {}", V, name(v.claim.ties),
                            index(0, 0, falling));
    }
  }
  if (v.claim.select == Select::logits && v.dtype != Dtype::f16) {
    ++o.judged;
    if (!by_logit) {
      ++o.refuted;
      o.proof =
          fmt::format("{} logits rising by 2^-40, all different: slot 0 must hold column {}, it holds {}", V,
                      V - 1, index(1, 0, true));
    }
  }
  return o;
}

}  // namespace

void probe_policies(const Variant& v, std::vector<Observation>& out) {
  out.push_back(repeats(v));
  if (!one_value(v.op)) out.push_back(special(v));
  if (selects(v.op)) out.push_back(selection(v));
}

std::vector<Observation> run_probes(const Variant& variant) {
  std::vector<Observation> out;
  if (variant.op == Op::softmax || variant.op == Op::softmax_topk) {
    probe_sums(variant, out);
    probe_outputs(variant, out);
  } else if (variant.op == Op::log_softmax || variant.op == Op::lse) {
    probe_logs(variant, out);
  }
  probe_policies(variant, out);
  return out;
}

// Probes of the shift: whether numerators use the final maximum, how x - m is computed, and by what a sum
// without a shift is divided.

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

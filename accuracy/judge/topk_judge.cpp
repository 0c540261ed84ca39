// SPDX-License-Identifier: Apache-2.0
// Judges top-k. First the indices as a set (in range, distinct, -1 after the last element), then their order
// against the exact one, then the values that belong to them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "accuracy/judge/judged_row.hpp"
#include "accuracy/judge/kept_set.hpp"
#include "accuracy/judge/row_judge.hpp"

namespace assay {
namespace {

/// A logit as the kernel sees it: a kernel that flushes sees a subnormal logit as 0.
double as_seen(const RowContext& c, double x) { return std::fabs(x) < c.terms.flush ? 0 : x; }

bool judge_indices(const RowContext& c, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  const std::vector<double>& x = t.x;
  const auto V = static_cast<std::int64_t>(x.size());
  const auto full = static_cast<std::size_t>(selectable(c.claim, t));
  std::vector<bool> seen(x.size(), false);
  bool all = true;
  for (std::size_t r = 0; r < got.indices.size(); ++r) {
    const std::int64_t i = got.indices[r];
    const bool past = r >= full;
    const bool inside = i >= 0 && i < V;
    const bool passed_over = inside && ignored(c.claim, x[static_cast<std::size_t>(i)]);
    const bool ok = past ? i == -1 : inside && !passed_over && !seen[static_cast<std::size_t>(i)];
    if (inside) seen[static_cast<std::size_t>(i)] = true;
    all &= ok;
    if (!c.tally.require(Check::indices, ok) && c.tally.first(Check::indices))
      c.tally.at(Check::indices).detail =
          fmt::format("row {}, slot {}: index {} is {}", c.row.row, r, c.row.column(i),
                      past          ? "not the -1 of an empty slot"
                      : !inside     ? "out of range"
                      : passed_over ? "that of a NaN, declared ignored"
                                    : "there twice");
  }
  return all;
}

/// The order of values that are known within ranges: a slot is right if no element that is left out is
/// certainly larger, and no earlier slot certainly smaller. `range`: of the value of an element.
template <class Range>
void judge_order_within(const RowContext& c, const RowOutput& got, Range range, const char* what) {
  const RowTruth& t = *c.row.truth;
  std::vector<bool> selected(t.x.size(), false);
  for (std::int64_t i : got.indices)
    if (i >= 0) selected[static_cast<std::size_t>(i)] = true;
  double best_left = -INFINITY;  // the largest value that an element left out certainly has
  std::int64_t best_left_at = -1;
  for (std::size_t i = 0; i < t.x.size(); ++i)
    if (!selected[i] && range(i).lo > best_left) {
      best_left = range(i).lo;
      best_left_at = static_cast<std::int64_t>(i);
    }
  double previous = INFINITY;
  for (std::size_t r = 0; r < got.indices.size(); ++r) {
    if (got.indices[r] < 0) continue;
    const auto i = static_cast<std::size_t>(got.indices[r]);
    const Enclosure own = range(i);
    if (!c.tally.require(Check::order, own.hi >= best_left && own.lo <= previous) &&
        c.tally.first(Check::order))
      c.tally.at(Check::order).detail =
          own.hi >= best_left
              ? fmt::format("row {}, slot {}: column {} ranks after a clearly smaller {}", c.row.row, r,
                            c.row.column(i), what)
              : fmt::format("row {}, slot {}: column {} (logit {:g}) was chosen over column {} (logit {:g})",
                            c.row.row, r, c.row.column(i), t.x[i], c.row.column(best_left_at),
                            best_left_at < 0 ? NAN : t.x[static_cast<std::size_t>(best_left_at)]);
    previous = std::min(previous, own.hi);
  }
}

void judge_stored_ties(const RowContext& c, const RowOutput& got);

/// Selection by probability. An index is right if no unselected logit certainly has a larger computed
/// probability. The common sum cancels; each side keeps its own errors of exp, shift and rounding.
void judge_order_of_probs(const RowContext& c, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  if (!c.bounds) return;  // special rows: probabilities are NaN or 0, any distinct indices are right
  const auto own = [&](std::size_t i) { return exp_error(c.terms, t, *c.shift, i) + lam(c.terms.D_own); };
  // Relative to the computed sum, which is off by up to e^b in both directions: ROW_CHECKS.md section 6.
  const double w = c.bounds->w_quotient * std::exp(2 * c.bounds->b + 2 * lam(c.terms.D));
  const auto range = [&](std::size_t i) {
    return Enclosure{t.lo[i] * std::exp(-own(i)) - w, t.hi[i] * std::exp(own(i)) + w};
  };
  judge_order_within(c, got, range, "probability");
  // Kept exps of equal logits may differ. Then the tie rule does not decide which is taken first.
  if (c.terms.kept) return;
  if (!t.slack.empty()) return judge_stored_ties(c, got);
  if (c.claim.ties != Ties::smaller_index) return;
  // Equal logits have equal probabilities. Of each run the smallest positions are taken, in ascending order.
  for (std::size_t r = 0; r < got.indices.size(); ++r) {
    if (got.indices[r] < 0) continue;
    const auto i = static_cast<std::size_t>(got.indices[r]);
    std::int64_t passed_over = -1;
    for (std::size_t j = 0; j < i && passed_over < 0; ++j)
      if (t.x[j] == t.x[i] &&
          std::find(got.indices.begin(), got.indices.begin() + static_cast<std::ptrdiff_t>(r),
                    static_cast<std::int64_t>(j)) == got.indices.begin() + static_cast<std::ptrdiff_t>(r))
        passed_over = static_cast<std::int64_t>(j);
    if (!c.tally.require(Check::order, passed_over < 0) && c.tally.first(Check::order))
      c.tally.at(Check::order).detail = fmt::format(
          "row {}, slot {}: column {} was taken before column {}, which holds the same logit {:g}", c.row.row,
          r, c.row.column(i), c.row.column(passed_over), t.x[i]);
  }
}

/// The tie rule, for logits that the kernel computes itself: equal stored ones are equal there, too.
void judge_stored_ties(const RowContext& c, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  if (t.stored.empty() || c.claim.ties == Ties::unspecified) return;
  // Of the values that were taken, in the order of the rule.
  std::map<double, std::vector<std::int64_t>> columns;
  for (const std::int64_t i : got.indices)
    if (i >= 0 && !std::isnan(t.stored[static_cast<std::size_t>(i)]))
      columns[t.stored[static_cast<std::size_t>(i)]];
  for (std::size_t i = 0; i < t.stored.size(); ++i)
    if (const auto of = columns.find(t.stored[i]); !std::isnan(t.stored[i]) && of != columns.end())
      of->second.push_back(static_cast<std::int64_t>(i));
  if (c.claim.ties == Ties::larger_index)
    for (auto& [value, all] : columns) std::reverse(all.begin(), all.end());
  std::map<double, std::size_t> taken;
  for (std::size_t r = 0; r < got.indices.size(); ++r) {
    const std::int64_t i = got.indices[r];
    if (i < 0) continue;
    const double value = t.stored[static_cast<std::size_t>(i)];
    if (std::isnan(value) || std::fabs(value) < c.terms.flush) continue;
    const std::int64_t want = columns[value][taken[value]++];
    if (!c.tally.require(Check::order, want == i) && c.tally.first(Check::order))
      c.tally.at(Check::order).detail = fmt::format(
          "row {}, slot {}: column {} was taken before column {}, which holds the same logit {:g}", c.row.row,
          r, c.row.column(i), c.row.column(want), value);
  }
}

/// Selection by logits that the kernel computes itself, or by the stored ones: two may change places if they
/// are closer than both may be off.
void judge_order_of_loose_logits(const RowContext& c, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  const auto range = [&](std::size_t i) {
    if (std::isnan(t.x[i])) return Enclosure{-INFINITY, INFINITY};  // its place is not judged here
    const double off = t.slack[i] + (std::fabs(t.x[i]) < c.terms.flush ? c.terms.flush : 0);
    return Enclosure{t.x[i] - off, t.x[i] + off};
  };
  judge_order_within(c, got, range, "logit");
  judge_stored_ties(c, got);
}

void judge_order_of_logits(const RowContext& c, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  if (!t.slack.empty()) return judge_order_of_loose_logits(c, got);
  const auto n =
      std::min({got.indices.size(), t.order.size(), static_cast<std::size_t>(selectable(c.claim, t))});
  const auto logit = [&](std::int64_t i) { return t.x[static_cast<std::size_t>(i)]; };
  const bool anywhere = c.claim.policy.nan_order == NanOrder::any;
  std::int64_t numbers = 0;  // slots so far that do not hold a NaN
  for (std::size_t r = 0; r < n; ++r) {
    const std::int64_t have = got.indices[r];
    // If NaN may be anywhere, the other elements must be in order.
    if (anywhere && std::isnan(logit(have))) {
      c.tally.require(Check::order, true);
      continue;
    }
    const std::int64_t want = ranked(c.claim, t, anywhere ? numbers++ : static_cast<std::int64_t>(r));
    const bool flushed = c.terms.flush > 0 && as_seen(c, logit(have)) == 0 && as_seen(c, logit(want)) == 0;
    const bool ok =
        want == have || flushed || (c.claim.ties == Ties::unspecified && same_rank(logit(have), logit(want)));
    if (!c.tally.require(Check::order, ok) && c.tally.first(Check::order))
      c.tally.at(Check::order).detail =
          fmt::format("row {}, slot {}: index {} (logit {:g}), must be {} (logit {:g})", c.row.row, r,
                      c.row.column(have), logit(have), c.row.column(want), logit(want));
  }
}

void judge_selected_probabilities(const RowContext& c, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  const double top = c.bounds ? c.bounds->range_top : 1;
  const auto full = static_cast<std::size_t>(selectable(c.claim, t));
  for (std::size_t r = 0; r < got.indices.size() && r < full; ++r) {
    const std::int64_t i = got.indices[r];
    const double g = got.values[r];
    if (!c.bounds) {
      // Special row: the value that softmax has there. If the policy is `zero` or `inf_only`, 0 is right.
      const bool may_be_zero =
          (t.kind == RowKind::all_neg_inf && c.claim.policy.all_neg_inf == NegInfRows::zero) ||
          (t.kind == RowKind::pos_inf && c.claim.policy.pos_inf == PosInfRows::inf_only &&
           t.x[static_cast<std::size_t>(i)] != INFINITY);
      if (!c.tally.require(Check::special, may_be_zero ? g == 0 : std::isnan(g)) &&
          c.tally.first(Check::special))
        c.tally.at(Check::special).detail =
            fmt::format("row {}, slot {} (index {}): must be {}, got {:g}", c.row.row, r, c.row.column(i),
                        may_be_zero ? "0" : "NaN", g);
      continue;
    }
    judge_element(c, i, g, got.bits[r]);
    const bool in_range = g >= 0 && g <= top && !(got.bits[r] & format(c.out).sign_mask());
    if (!c.tally.require(Check::range, in_range) && c.tally.first(Check::range))
      c.tally.at(Check::range).detail = fmt::format("row {}, slot {}: got {:a}", c.row.row, r, g);
  }
}

/// The values of softmax_topk beside each other: the selected columns, as a row of their own.
void judge_selected_side_by_side(const RowContext& c, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  // Logits that the kernel computes itself may have another order.
  if (!c.bounds || !t.slack.empty()) return;
  const auto n = std::min(got.indices.size(), static_cast<std::size_t>(selectable(c.claim, t)));
  if (n == 0) return;
  RowTruth row;
  row.kind = t.kind, row.m = t.m, row.s = t.s, row.lse = t.lse;
  RoundedShift shift;
  JudgedPart part;
  for (std::size_t r = 0; r < n; ++r) {
    const auto i = static_cast<std::size_t>(got.indices[r]);
    row.x.push_back(t.x[i]), row.d.push_back(t.d[i]), row.lo.push_back(t.lo[i]), row.hi.push_back(t.hi[i]);
    row.finite += std::isfinite(t.d[i]);
    row.order.push_back(static_cast<std::int32_t>(r));
    shift.f.push_back(c.shift->f[i]), shift.delta.push_back(c.shift->delta[i]);
    part.columns.push_back(c.row.column(got.indices[r]));
  }
  std::ranges::stable_sort(row.order, std::ranges::greater(),
                           [&](std::int32_t r) { return row.x[static_cast<std::size_t>(r)]; });
  row.argmax = row.order.front();
  const auto top = static_cast<std::size_t>(row.argmax);
  if (std::isinf(row.d[top])) return;
  // With select=probs the row's maximum may be left out. The errors of both shifts then count.
  const double of_top = shift.delta[top];
  for (double& delta : shift.delta) delta += c.terms.any_shift ? of_top : -of_top;
  RowBounds bounds;
  bounds.w = c.bounds->w, bounds.anchor = c.bounds->anchor;
  const RowCase selected{&row, c.row.row, &part};
  const RowContext own{c.claim, c.terms, c.rounded, c.out, selected, &bounds, &shift, c.tally, c.statistics};
  judge_side_by_side(own, {got.values.first(n), got.bits.first(n), {}});
}

void judge_gathered_logits(const RowContext& c, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  const auto full = static_cast<std::size_t>(selectable(c.claim, t));
  for (std::size_t r = 0; r < got.indices.size() && r < full; ++r) {
    const auto i = static_cast<std::size_t>(got.indices[r]);
    // Rounded if the outputs are narrower.
    const double x = round_to(c.out, t.x[i]);
    const double g = got.values[r];
    const bool same = t.slack.empty() ? g == x && std::signbit(g) == std::signbit(x)
                                      : g >= round_to(c.out, t.x[i] - t.slack[i]) &&
                                            g <= round_to(c.out, t.x[i] + t.slack[i]);
    const bool ok = std::isnan(x) ? std::isnan(g) : same || (g == 0 && std::fabs(x) < c.terms.flush);
    if (!c.tally.require(Check::gather, ok) && c.tally.first(Check::gather))
      c.tally.at(Check::gather).detail = fmt::format("row {}, slot {}: logit at index {} is {:a}, got {:a}",
                                                     c.row.row, r, c.row.column(got.indices[r]), x, g);
  }
}

/// The values of slots for which the row has no element.
void judge_empty_slots(const RowContext& c, Op op, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  // A slot that is empty because a NaN was ignored may still hold its value from before the search.
  for (auto r = static_cast<std::size_t>(selectable(c.claim, t)); r < got.values.size() && r < t.x.size();
       ++r)
    if (!c.tally.require(Check::special,
                         got.values[r] == 0 || got.values[r] == -INFINITY || std::isnan(got.values[r])) &&
        c.tally.first(Check::special))
      c.tally.at(Check::special).detail =
          fmt::format("row {}, slot {}: a slot left over by a NaN must hold 0, -inf or NaN, got {:g}",
                      c.row.row, r, got.values[r]);
  for (std::size_t r = t.x.size(); r < got.values.size(); ++r)
    if (!c.tally.require(Check::special, got.values[r] == empty_slot(op)) && c.tally.first(Check::special))
      c.tally.at(Check::special).detail =
          fmt::format("row {}, slot {}: an empty slot must hold {:g}, got {:g}", c.row.row, r, empty_slot(op),
                      got.values[r]);
}

/// Judges the values of a right selection as the softmax of the row that it makes.
void judge_softmax_of(const RowContext& selected, const RowCase& row, const RowOutput& got) {
  const std::size_t n = selected.row.truth->x.size();
  const RowOutput own{got.values.first(n), got.bits.first(n), {}};
  ErrorStatistics& s = selected.statistics;
  const auto before = s.worst.row;
  if (!selected.bounds)
    judge_special(selected, own);
  else
    judge_probabilities(selected, own);
  // A record names columns of the row, not slots. A row is looked at once.
  if (s.worst.row == selected.row.row && before != s.worst.row)
    s.worst.column = row.column(got.indices[static_cast<std::size_t>(s.worst.column)]);
}

/// The slots of a row in the order in which the claim ranks their elements; those without an element last.
class InOrder {
 public:
  InOrder(const RowContext& c, const RowOutput& got) {
    const std::vector<double>& x = c.row.truth->x;
    std::vector<std::size_t> slots(got.indices.size());
    std::iota(slots.begin(), slots.end(), std::size_t{0});
    const bool nan_first = c.claim.policy.nan_order == NanOrder::first,
               larger = c.claim.ties == Ties::larger_index;
    std::ranges::stable_sort(slots, [&](std::size_t a, std::size_t b) {
      const std::int64_t i = got.indices[a], j = got.indices[b];
      const auto inside = [&](std::int64_t at) { return at >= 0 && at < std::ssize(x); };
      if (!inside(i) || !inside(j)) return inside(i) && !inside(j);
      const double p = x[static_cast<std::size_t>(i)], q = x[static_cast<std::size_t>(j)];
      if (std::isnan(p) != std::isnan(q)) return std::isnan(p) == nan_first;
      return p > q || (same_rank(p, q) && (larger ? i > j : i < j));
    });
    for (const std::size_t slot : slots) {
      indices_.push_back(got.indices[slot]);
      if (got.values.empty()) continue;
      values_.push_back(got.values[slot]);
      bits_.push_back(got.bits[slot]);
    }
    row_ = got;
    row_.indices = indices_, row_.values = values_, row_.bits = bits_;
  }
  InOrder(const InOrder&) = delete;
  const RowOutput& row() const { return row_; }

 private:
  std::vector<double> values_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::int64_t> indices_;
  RowOutput row_;
};

void judge_slots(const RowContext& c, Op op, const RowOutput& got, const RowContext* selected) {
  // Values have no meaning if their indices are wrong.
  if (!judge_indices(c, got)) return;
  const auto in_order = [&] { return c.tally.at(Check::order).failed; };
  const auto before = in_order();
  if (c.claim.select == Select::probs)
    judge_order_of_probs(c, got);
  else
    judge_order_of_logits(c, got);
  if (got.values.empty()) return;
  if (op == Op::topk)
    judge_gathered_logits(c, got);
  else if (op == Op::softmax_topk)
    judge_selected_probabilities(c, got);
  if (op == Op::softmax_topk && in_order() == before)
    judge_selected_side_by_side(c, got);
  else if (in_order() == before && op == Op::log_softmax_topk)
    judge_logs(c, op, got);
  else if (in_order() == before && op == Op::topk_softmax)
    judge_softmax_of(*selected, c.row, got);
  judge_empty_slots(c, op, got);
}

}  // namespace

void judge_topk(const RowContext& c, Op op, const RowOutput& got, const RowContext* selected) {
  if (c.claim.order == SlotOrder::sorted) return judge_slots(c, op, got, selected);
  judge_slots(c, op, InOrder(c, got).row(), selected);
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "accuracy/judge/judged_row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "accuracy/bounds/divisor.hpp"

namespace assay {
namespace {

void prepare_sum(PreparedRow& row, const Terms& terms, const RowTruth& truth, const RoundedShift* f32_shift) {
  if (truth.kind != RowKind::finite && truth.kind != RowKind::masked) return;
  const bool plain = terms.arithmetic == Dtype::f32 && terms.shifted && !terms.exp2 && !terms.any_shift &&
                     truth.slack.empty();
  if (plain && f32_shift)
    row.cached = f32_shift;
  else
    row.own_shift = shift_of(truth, terms);
  if (terms.epsilon > 0) row.own_truth = with_epsilon(truth, terms, row.shift());
  row.bounds = row_bounds(terms, row.truth(truth), row.shift());
}

/// The terms of the same claim for a sum of n elements, a part of the row. A limit that a judgement has set
/// on the sum of the whole row stays.
Terms terms_of_part(const Claim& claim, Terms terms, std::int64_t V, std::int64_t n) {
  if (!claim.height) return terms;
  const double more = terms.epsilon > 0, own = static_cast<double>(claim.height(n)) + more;
  const double whole = static_cast<double>(claim.height(V)) + more;
  for (double Terms::*levels : {&Terms::h, &Terms::merges})
    terms.*levels = terms.*levels < whole ? std::min(terms.*levels, own) : own;
  return terms;
}

/// Makes `part`, the selected elements of `whole`, the row that is judged.
void prepare_selected(PreparedRow& row, const Claim& claim, const Terms& terms, const RowTruth& whole,
                      RowTruth part) {
  row.own_truth = std::move(part);
  row.own_terms = terms_of_part(claim, terms, static_cast<std::int64_t>(whole.x.size()),
                                static_cast<std::int64_t>(row.own_truth->x.size()));
  prepare_sum(row, *row.own_terms, *row.own_truth, nullptr);
  row.outside = outside_domain(claim, *row.own_truth, row.bounds ? row.bounds->b : 0);
}

/// Logits that the kernel computes itself may change places, so its own selection is the row. Empty if an
/// index is not inside the row.
std::optional<PreparedRow> prepare_own_selection(const Claim& claim, const Terms& terms,
                                                 const RowTruth& whole, const RowOutput& got) {
  const auto V = static_cast<std::int64_t>(whole.x.size());
  const auto own =
      got.indices.first(std::min(got.indices.size(), static_cast<std::size_t>(selectable(claim, whole))));
  if (!std::all_of(own.begin(), own.end(), [V](std::int64_t i) { return i >= 0 && i < V; })) return {};
  PreparedRow row;
  prepare_selected(row, claim, terms, whole, truth_of_selected(whole, own));
  return row;
}

}  // namespace

PreparedRow prepare_row(const Claim& claim, const Terms& terms, const RowTruth& truth, Op op,
                        const Pick& pick, const RoundedShift* f32_shift) {
  PreparedRow row;
  if (op == Op::topk) return row;
  if (keeps_a_set(op)) row.threshold = static_cast<double>(static_cast<float>(pick.threshold));
  if (op != Op::topk_softmax) {
    prepare_sum(row, terms, truth, f32_shift);
    row.outside = outside_domain(claim, row.truth(truth), row.bounds ? row.bounds->b : 0);
    return row;
  }
  if (truth.kind == RowKind::nan && claim.policy.nan_order == NanOrder::any) {
    row.outside = "the row has a NaN, and nan_order=any does not say whether it is selected";
    return row;
  }
  prepare_selected(row, claim, terms, truth, selected_truth(claim, truth, pick.k));
  return row;
}

void judge_row(const Claim& claim, const Terms& terms, Dtype rounded, Dtype out, const RowCase& row,
               const PreparedRow& by_rank, Op op, const RowOutput& got, Tally& tally,
               ErrorStatistics& statistics, ErrorProfile* profile) {
  const std::optional<PreparedRow> own = op == Op::topk_softmax && !row.truth->slack.empty()
                                             ? prepare_own_selection(claim, terms, *row.truth, got)
                                             : std::nullopt;
  const PreparedRow& prepared = own ? *own : by_rank;
  const RowBounds* const bounds = prepared.bounds ? &*prepared.bounds : nullptr;
  // The columns of a row of what was selected are slots.
  const RowCase judged{&prepared.truth(*row.truth), row.row, op == Op::topk_softmax ? nullptr : row.part};
  const RowContext c{claim,
                     prepared.terms(terms),
                     rounded,
                     out,
                     judged,
                     bounds,
                     bounds ? &prepared.shift() : nullptr,
                     tally,
                     statistics,
                     profile};
  if (op == Op::topk_softmax) {
    const RowContext whole{claim, terms, rounded, out, row, nullptr, nullptr, tally, statistics, nullptr};
    judge_topk(whole, op, got, &c);
  } else if (selects(op))
    judge_topk(c, op, got);
  else if (op == Op::log_softmax || op == Op::lse)
    judge_logs(c, op, got);
  else if (keeps_a_set(op))
    judge_kept(c, op, prepared.threshold, got);
  else if (op == Op::softmax && bounds)
    judge_probabilities(c, got);
  else if (op == Op::softmax)
    judge_special(c, got);
  if (got.has_normalizer && row.truth->kind != RowKind::empty) judge_normalizer(c, got);
  statistics.resolution.row(resolution_limit(op == Op::normalizer ? Dtype::f32 : out));
}

bool same_rank(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool ignored(const Claim& claim, double logit) {
  return std::isnan(logit) && claim.policy.nan_order == NanOrder::ignored;
}

std::int64_t selectable(const Claim& claim, const RowTruth& row) {
  return std::count_if(row.x.begin(), row.x.end(), [&](double logit) { return !ignored(claim, logit); });
}

std::int32_t ranked(const Claim& claim, const RowTruth& row, std::int64_t r) {
  const auto n = static_cast<std::int64_t>(row.order.size());
  const auto logit = [&](std::int64_t i) {
    return row.x[static_cast<std::size_t>(row.order[static_cast<std::size_t>(i)])];
  };
  std::int64_t at = r;
  if (claim.policy.nan_order == NanOrder::first) {
    std::int64_t nans = 0;
    while (nans < n && std::isnan(logit(n - 1 - nans))) ++nans;
    at = (r - nans + n) % n;
  }
  if (claim.ties == Ties::larger_index) {
    // Mirrors the position within its run of equal logits.
    std::int64_t first = at, last = at;
    while (first > 0 && same_rank(logit(first - 1), logit(at))) --first;
    while (last + 1 < n && same_rank(logit(last + 1), logit(at))) ++last;
    at = first + last - at;
  }
  return row.order[static_cast<std::size_t>(at)];
}

RowTruth truth_of_selected(const RowTruth& row, std::span<const std::int64_t> positions) {
  std::vector<float> logits;
  std::vector<double> slack;
  for (const std::int64_t position : positions) {
    const auto i = static_cast<std::size_t>(position);
    logits.push_back(static_cast<float>(row.x[i]));  // exact: no judged dtype is wider
    if (!row.slack.empty()) slack.push_back(row.slack[i]);
  }
  OracleOptions options;
  options.tier = row.bits > 53 ? Tier::mpfr : Tier::fast;
  RowTruth t = row_truth(Dtype::f32, logits.data(), std::ssize(logits), Dtype::f32, options);
  t.rounded.clear();
  t.undecided = 0;  // of those roundings
  t.slack = std::move(slack);
  return t;
}

RowTruth selected_truth(const Claim& claim, const RowTruth& row, int k) {
  std::vector<std::int64_t> positions(
      static_cast<std::size_t>(std::min<std::int64_t>(k, selectable(claim, row))));
  for (std::size_t r = 0; r < positions.size(); ++r)
    positions[r] = ranked(claim, row, static_cast<std::int64_t>(r));
  return truth_of_selected(row, positions);
}

namespace {

constexpr double kUnit = 0x1p-52;  // 1 + 2^-53 would be 1

/// Widened by `units` of 2^-52 relative; x >= 0.
double down(double x, double units) { return x * (1 - units * kUnit); }
double up(double x, double units) { return x * (1 + units * kUnit) + std::numeric_limits<double>::min(); }

}  // namespace

Enclosure log_sum_truth(const RowTruth& row, double more) {
  // s = c + T: c is the number of logits equal to the maximum, T the sum of the terms below it. log and log1p
  // of the C library are within 2 ulp, that is 4 units.
  double count = 0, lo = 0, hi = 0;
  for (std::size_t i = 0; i < row.x.size(); ++i) {
    if (row.d[i] == 0) {
      ++count;
    } else {
      lo += row.lo[i];
      hi += row.hi[i];
    }
  }
  const auto n = static_cast<double>(row.x.size());
  const double tail_lo = down(lo * row.s.lo + more, n + 12), tail_hi = up(hi * row.s.hi + more, n + 12);
  const Enclosure by_tail{down(down(std::log(count), 4) + down(std::log1p(tail_lo / count), 6), 2),
                          up(up(std::log(count), 4) + up(std::log1p(tail_hi / count), 6), 2)};
  const Enclosure by_sum{std::max(0.0, down(std::log(row.s.lo), 4)), up(std::log(row.s.hi), 4)};
  return {std::max(by_tail.lo, by_sum.lo), std::min(by_tail.hi, by_sum.hi)};
}

Enclosure log_prob_truth(const RowTruth& row, const Enclosure& log_sum, std::int64_t j) {
  const double d = row.d[static_cast<std::size_t>(j)];
  if (std::isinf(d)) return {d, d};
  // d and the difference are both rounded to nearest; neither can be positive.
  return {-up(up(-d, 1) + log_sum.hi, 1), -down(down(-d, 1) + log_sum.lo, 1)};
}

}  // namespace assay

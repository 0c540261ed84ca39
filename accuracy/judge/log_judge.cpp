// SPDX-License-Identifier: Apache-2.0
// Judges log-softmax, of all columns or of those that a launch has selected, and lse: every value against its
// absolute bound, the checks on a whole row, special values.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "accuracy/judge/judged_row.hpp"
#include "accuracy/judge/row_judge.hpp"
#include "accuracy/ulp.hpp"

namespace assay {
namespace {

/// The columns that the values of a row belong to: all of them, or those of the selected elements, the
/// largest first.
class Columns {
 public:
  Columns(const RowContext& c, Op op, const RowOutput& got)
      : truth_(*c.row.truth), selects_(selects(op)), size_(got.values.size()) {
    if (!selects_) return;
    size_ = std::min(size_, static_cast<std::size_t>(selectable(c.claim, truth_)));
    selected_ = got.indices.first(size_);
  }
  std::size_t size() const { return size_; }
  std::size_t of(std::size_t slot) const {
    return selects_ ? static_cast<std::size_t>(selected_[slot]) : slot;
  }
  /// The slot of the largest logit.
  std::size_t largest() const { return selects_ ? 0 : static_cast<std::size_t>(truth_.argmax); }
  /// The slots by falling logit, without those of NaN.
  std::size_t ordered() const { return selects_ ? size_ : truth_.order.size(); }
  std::size_t in_order(std::size_t place) const {
    return selects_ ? place : static_cast<std::size_t>(truth_.order[place]);
  }

 private:
  const RowTruth& truth_;
  bool selects_;
  std::size_t size_;
  std::span<const std::int64_t> selected_;
};

/// The exact value that an lse must have, or NaN if it must be NaN.
double special_lse(const RowContext& c) {
  if (c.row.truth->kind == RowKind::all_neg_inf) return -kInf;
  if (c.row.truth->kind == RowKind::pos_inf && c.claim.policy.pos_inf == PosInfRows::inf_only) return kInf;
  return std::numeric_limits<double>::quiet_NaN();
}

void judge_special_logs(const RowContext& c, Op op, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  const Policy& policy = c.claim.policy;
  const Columns columns(c, op, got);
  for (std::size_t slot = 0; slot < columns.size(); ++slot) {
    const std::size_t j = columns.of(slot);
    // Log-softmax is the logarithm of softmax's result there: -inf if the policy says 0.
    const bool zero =
        (t.kind == RowKind::all_neg_inf && policy.all_neg_inf == NegInfRows::zero) ||
        (t.kind == RowKind::pos_inf && policy.pos_inf == PosInfRows::inf_only && !(t.x[j] == kInf));
    const double want = op == Op::lse ? special_lse(c)
                        : zero        ? -kInf
                                      : std::numeric_limits<double>::quiet_NaN();
    const double g = got.values[slot];
    if (!c.tally.require(Check::special, std::isnan(want) ? std::isnan(g) : g == want) &&
        c.tally.first(Check::special))
      c.tally.at(Check::special).detail =
          fmt::format("row {}, value {}: must be {}, got {:g}", c.row.row, j,
                      std::isnan(want) ? "NaN" : fmt::format("{:g}", want), g);
  }
}

/// The error of the shift from which log-softmax subtracts the log of the sum. The shift is x - m, rounded.
/// With exp2_fma the exps have a shift of their own, and log-softmax may use either.
double shift_error(const RowContext& c, std::size_t j) {
  const double exps = std::fabs(c.shift->delta[j]);
  if (!c.terms.exp2) return exps;
  const RowTruth& t = *c.row.truth;
  const double f = static_cast<double>(static_cast<float>(t.x[j]) - static_cast<float>(t.m));
  return std::max(exps, std::isinf(f) ? 0 : std::fabs(f - (t.x[j] - t.m)));
}

/// The error of the last roundings of a subnormal result. A sum in one format loses nothing unless it is
/// flushed; its terms may be flushed too.
double absolute(const Terms& k) { return (k.u_out > 0 ? k.w_out : 0) + 4 * k.flush; }

struct Value {
  std::int64_t column;
  double logit, distance;
  Enclosure exact;
  double bound;   // bound of |computed - exact|, before the rounding to the output's format
  double weight;  // its weight in the record's resolution; 0: not counted
};

/// True if correctly rounded. A rounding that the enclosure does not decide does not count as correct.
bool rounded_to(Dtype out, Enclosure y, std::uint64_t bits) {
  return encode(out, y.lo) == bits && encode(out, y.hi) == bits;
}

void judge_value(const RowContext& c, const Value& v, double g, bool rounded) {
  ErrorStatistics& s = c.statistics;
  const double size = std::max(std::fabs(v.exact.lo), std::fabs(v.exact.hi));
  // If the output is rounded to a narrower format at the end, the judged value is the nearest of all numbers
  // that round to it (row_judge.cpp says why).
  const bool narrows = c.terms.narrows;
  const double bound = narrows
                           ? v.bound + 4 * c.terms.flush
                           : (v.bound + c.terms.u_out * (size + v.bound)) * (1 + 0x1p-40) + absolute(c.terms);
  const double middle = 0.5 * (v.exact.lo + v.exact.hi);
  const RoundsTo all = rounds_to(c.out, std::fabs(g));
  const double seen = !narrows || std::isnan(g) ? g
                      : std::signbit(g)         ? std::clamp(middle, -all.hi, -all.lo)
                                                : std::clamp(middle, all.lo, all.hi);
  // The limit is at least two units in the last place of the output, the sharpest possible one; before a last
  // rounding to a narrower format, two units of roundoff.
  if (v.weight > 0)
    s.resolution.logarithm(v.weight, bound, std::max(1e-3, (narrows ? 2 : 4) * unit_roundoff(c.out) * size),
                           certainly_refused(c.terms, c.out, size, bound));
  // Beyond the format's range the rounding gives infinity. So a value within the bound of that range may
  // become infinite.
  const double overflow = max_finite(c.out) * (1 + 0.5 * unit_roundoff(c.out));
  bool ok;
  double ratio;
  if (std::isinf(g) && size + v.bound >= overflow && std::signbit(g) == std::signbit(v.exact.lo)) {
    ok = c.tally.require(Check::element, true);
    ratio = 0;
  } else {
    const double far = std::max(seen - v.exact.lo, v.exact.hi - seen);
    const double near = std::max({seen - v.exact.hi, v.exact.lo - seen, 0.0});
    ok = c.tally.judge(Check::element, std::isnan(g) ? g : near, std::isnan(g) ? g : far, bound,
                       bound * (1 + 0x1p-40));
    ratio = far / bound;
  }
  const Enclosure errors = std::isinf(g) && ok ? Enclosure{0, 0} : ulp_error(c.out, g, v.exact);
  const double error = errors.hi;
  s.take(errors.lo, errors.hi, rounded, false);
  s.take_worst(ok, {c.row.row, c.row.column(v.column), v.logit, v.distance, g, v.exact.lo, v.exact.hi, error,
                    std::isnan(ratio) ? kInf : ratio});
  if (!ok && c.tally.first(Check::element))
    c.tally.at(Check::element).detail =
        fmt::format("row {}, column {}: got {:g}, exact {:.17g}, off by {:.4g}, bound {:.4g}", c.row.row,
                    c.row.column(v.column), g, v.exact.lo, std::fabs(g - v.exact.lo), bound);
}

/// y_j - y_a is d_j, except for the roundings of the two outputs: the log of the sum cancels.
void judge_log_coherence(const RowContext& c, const Columns& columns, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  const Terms& k = c.terms;
  const double u = k.u + k.u_out + k.u * k.u_out;
  const double w = 2 * absolute(k) * (1 + 2 * u);
  if (columns.size() == 0) return;
  const std::size_t top = columns.of(columns.largest());
  const double ya = got.values[columns.largest()], da = t.d[top];
  // Of logits that the kernel computes itself, the first that it takes need not be the row's maximum.
  const double of_top = t.slack.empty() ? 0 : shift_error(c, top);
  for (std::size_t slot = 0; slot < columns.size(); ++slot) {
    const std::size_t j = columns.of(slot);
    const double y = got.values[slot];
    if (std::isinf(t.d[j]) || std::isinf(y)) continue;
    const double error = std::fabs(y - ya - (t.d[j] - da));
    const double sigma = k.absorb && t.slack.empty() ? 0 : shift_error(c, j) + of_top;
    const double bound = sigma + u / (1 - u) * (std::fabs(y) + std::fabs(ya)) + w;
    const double slack = 0x1p-51 * (std::fabs(y) + std::fabs(ya) + std::fabs(t.d[j]));
    if (!c.tally.judge(Check::coherence, error - slack, error + slack, bound, bound * (1 + 0x1p-24)) &&
        c.tally.first(Check::coherence))
      c.tally.at(Check::coherence).detail =
          fmt::format("row {}, column {}: y - y_argmax is off x - m by {:.4g}, bound {:.4g}", c.row.row,
                      c.row.column(j), error, bound);
  }
}

/// Subtraction of the same number, and rounding, keep the order exactly. No result is above 0, and the
/// largest logit has the largest result.
void judge_log_order(const RowContext& c, const Columns& columns, const RowOutput& got) {
  const RowTruth& t = *c.row.truth;
  // Logits that the kernel computes itself may have another order.
  double room = 0;
  for (const double slack : t.slack) room = std::max(room, 2.02 * slack);
  std::optional<std::size_t> before;  // the slot of the next larger logit
  for (std::size_t place = 0; place < columns.ordered(); ++place) {
    const std::size_t slot = columns.in_order(place), j = columns.of(slot);
    const double g = got.values[slot];
    const auto column = static_cast<std::int64_t>(j);
    // The largest term is 1, so the sum is at least 1 and its logarithm is not negative. Naive kernels and
    // late rescaling promise no such term; their element bound limits how far above 0 a result may be.
    // Of logits that the kernel computes itself, the largest may exceed the subtracted maximum by the error
    // of the shift. The output's rounding keeps the order.
    const double most = t.slack.empty() ? 0 : round_to(c.out, shift_error(c, j) * (1 + 2 * c.terms.u));
    if (c.terms.unit_maximum() && !c.tally.require(Check::range, g <= most) && c.tally.first(Check::range))
      c.tally.at(Check::range).detail = fmt::format("row {}, column {}: {:a} is not at most {:g}", c.row.row,
                                                    c.row.column(column), g, most);
    if (before) {
      const std::size_t previous = columns.of(*before);
      const double above = got.values[*before];
      const bool equal = t.x[j] == t.x[previous];
      const bool in_order = room > 0 ? above >= g - room - 8 * unit_roundoff(c.out) * std::fabs(g)
                            : equal  ? above == g
                                     : above >= g;
      if (!c.tally.require(Check::monotone, in_order) && c.tally.first(Check::monotone))
        c.tally.at(Check::monotone).detail =
            fmt::format("row {}: columns {} and {} hold {:g} and {:g} but got {:a} and {:a}", c.row.row,
                        c.row.column(previous), c.row.column(column), t.x[previous], t.x[j], above, g);
    }
    before = slot;
  }
}

}  // namespace

void judge_logs(const RowContext& c, Op op, const RowOutput& got) {
  if (!c.bounds) return judge_special_logs(c, op, got);
  const RowTruth& t = *c.row.truth;
  const LogBounds bounds = log_bounds(c.terms, t, *c.bounds);
  if (op == Op::lse) {
    judge_value(c, {0, t.m, 0, t.lse, bounds.lse, 1}, got.values[0],
                c.rounded == c.out && c.terms.epsilon == 0 ? got.bits[0] == t.lse_rounded
                                                           : rounded_to(c.out, t.lse, got.bits[0]));
    return;
  }
  const Enclosure log_sum = log_sum_truth(t, c.bounds->epsilon);
  const bool counted = !absorbed(c.claim, c.terms, t);
  const Columns columns(c, op, got);
  for (std::size_t slot = 0; slot < columns.size(); ++slot) {
    const std::size_t j = columns.of(slot);
    const double g = got.values[slot];
    if (std::isinf(t.d[j])) {
      if (!c.tally.require(Check::special, g == -kInf) && c.tally.first(Check::special))
        c.tally.at(Check::special).detail = fmt::format(
            "row {}, column {}: logit -inf must give -inf, got {:g}", c.row.row, c.row.column(j), g);
      continue;
    }
    const auto column = static_cast<std::int64_t>(j);
    const Enclosure y = log_prob_truth(t, log_sum, column);
    judge_value(
        c,
        {column, t.x[j], t.d[j], y, bounds.element(c.terms, y.lo, shift_error(c, j)), counted ? t.hi[j] : 0},
        g, rounded_to(c.out, y, got.bits[slot]));
  }
  judge_log_coherence(c, columns, got);
  judge_log_order(c, columns, got);
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "accuracy/case/guarded.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/judge/judged_row.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "fuzz/trial.hpp"

namespace assay::fuzz {
namespace {

constexpr std::size_t kMostExplained = 6;  // elements explained per row
constexpr std::int64_t kRowsShown = 2;

std::string number(double x) { return std::isnan(x) ? "NaN" : fmt::format("{:.9g}", x); }
std::string interval(double lo, double hi) {
  return lo == hi ? fmt::format("{:.17g}", lo) : fmt::format("[{:.17g}, {:.17g}]", lo, hi);
}

/// One element of a row as the check treats it.
struct Element {
  std::int64_t j = 0;
  double got = 0, ulp = 0, ratio = 0;
  bool failed = false;
};

class RowText {
 public:
  RowText(const Variant& v, Op op, const Tensor& logits, std::int64_t row, const GuardedLaunch* run)
      : v_(v),
        op_(op),
        row_(row),
        run_(run),
        terms_(terms_of(v.claim, v.backend, v.out(), logits.V)),
        truth_(row_truth(logits.dtype, logits.row(row), logits.V, v.out())) {}

  std::string text() {
    std::string s = fmt::format("row {}: {}, {} of {} logits finite\n", row_, name(truth_.kind),
                                truth_.finite, truth_.x.size());
    const bool ordinary = truth_.kind == RowKind::finite || truth_.kind == RowKind::masked;
    if (ordinary) {
      s += fmt::format("  exact       m = {} at column {}, d = {}, lse = {}\n", number(truth_.m),
                       truth_.argmax, interval(truth_.s.lo, truth_.s.hi),
                       interval(truth_.lse.lo, truth_.lse.hi));
      s += stages();
    } else {
      s += "  exact       " + by_policy() + "\n";
    }
    if (run_ && run_->has_normalizer() && v_.writes_normalizer)
      s += fmt::format("  the kernel  m = {}, d = {}\n", number(static_cast<double>(run_->m(row_))),
                       number(static_cast<double>(run_->d(row_))));
    if (run_) s += selects(op_) ? selection() : values(ordinary);
    return s;
  }

 private:
  /// What a special row must give by the candidate's declared policy.
  std::string by_policy() const {
    const Policy& p = v_.claim.policy;
    switch (truth_.kind) {
      case RowKind::empty:
        return "V = 0: nothing is written";
      case RowKind::all_neg_inf:
        return std::string("m = -inf, d = 0; outputs ") + (p.all_neg_inf == NegInfRows::nan ? "NaN" : "0");
      case RowKind::pos_inf:
        return p.pos_inf == PosInfRows::nan ? "a +inf: outputs NaN"
               : v_.op == Op::lse           ? "a +inf: +inf"
                                            : "a +inf: NaN there, 0 elsewhere";
      default:
        return "a NaN: outputs NaN";
    }
  }

  /// The running pair (m, d) after each of the first columns and after the last. In fp32 it may differ by the
  /// bound b.
  std::string stages() const {
    std::string s;
    const std::size_t n = truth_.x.size();
    double m = -INFINITY, d = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const double next = std::max(m, truth_.x[j]);
      d = (m == -INFINITY ? 0 : d * std::exp(m - next)) +
          (truth_.x[j] == -INFINITY ? 0 : std::exp(truth_.x[j] - next));
      m = next;
      if (j < 4 || j + 1 == n)
        s += fmt::format("  stage       after column {}: m = {}, d = {}\n", j, number(m), number(d));
      else if (j == 4)
        s += "  stage       ...\n";
    }
    return s;
  }

  std::string values(bool ordinary) {
    const std::int64_t columns = run_->problem().out_columns();
    if (op_ != Op::softmax || !ordinary) {
      std::string s = "  got        ";
      for (std::int64_t j = 0; j < std::min<std::int64_t>(columns, 8); ++j)
        s += fmt::format(" {}", number(decode(v_.out(), run_->value_bits(row_, j))));
      return s + (columns > 8 ? " ...\n" : "\n");
    }
    const PreparedRow prepared = prepare_row(v_.claim, terms_, truth_, op_, 0);
    const RowTruth& exact = prepared.truth(truth_);
    const RoundedShift& shift = prepared.shift();
    const RowBounds& bounds = *prepared.bounds;
    std::string s = fmt::format(
        "  bound       u = {:g}, D = {:.3g}, u_out = {:.3g}, h = {:g}, b = {:.3g}, w = {:.3g}, row sum "
        "{:.3g}\n",
        terms_.u, terms_.D, terms_.u_out, terms_.h, bounds.b, bounds.w, bounds.row_sum);
    double sum = 0;
    for (std::int64_t j = 0; j < columns; ++j) sum += decode(v_.out(), run_->value_bits(row_, j));
    s += fmt::format("  outputs     sum to {} ({:+.3g})\n", number(sum), sum - 1);
    for (const Element& e : worst(exact, shift, bounds)) {
      const auto j = static_cast<std::size_t>(e.j);
      s += fmt::format("  column {}: {}\n", e.j, e.failed ? "FAILS" : "within its bound");
      s += fmt::format("    logit {:a} ({}), x - m = {}, fl(x - m) = {}\n", truth_.x[j], number(truth_.x[j]),
                       number(truth_.d[j]), number(shift.f[j]));
      s += fmt::format("    exact {}\n", interval(exact.lo[j], exact.hi[j]));
      s += fmt::format("    got   {:.17g} ({:a}), {:.4g} ulp off, {:.4g} of the bound\n", e.got, e.got, e.ulp,
                       e.ratio);
      s += fmt::format(
          "    bound p (e^A - 1) + w, A = {:.3g}: sigma = {:.3g}, eps = {:.3g}, D + b as above{}\n",
          bounds.A[j] - (terms_.narrows ? bounds.rounding : 0), std::fabs(shift.delta[j]),
          terms_.eps(shift.f[j]), terms_.narrows ? "; then one rounding to the output's format" : "");
    }
    return s;
  }

  /// The elements that fail, then those with the largest share of their bound.
  std::vector<Element> worst(const RowTruth& exact, const RoundedShift& shift,
                             const RowBounds& bounds) const {
    std::vector<Element> list;
    const RowCase row_case{&exact, row_};
    for (std::int64_t j = 0; j < run_->problem().out_columns(); ++j) {
      Tally tally;
      ErrorStatistics statistics;
      const RowContext context{v_.claim, terms_, v_.out(), v_.out(),   row_case,
                               &bounds,  &shift, tally,    statistics, nullptr};
      const std::uint64_t bits = run_->value_bits(row_, j);
      Element e;
      e.j = j;
      e.got = decode(v_.out(), bits);
      e.failed = !judge_element(context, j, e.got, bits);
      if (!statistics.ulp.empty()) e.ulp = static_cast<double>(statistics.ulp[0]);
      e.ratio = tally.at(Check::element).utilisation;
      list.push_back(e);
    }
    const std::size_t n = std::min(list.size(), kMostExplained);
    std::partial_sort(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(n), list.end(),
                      [](const Element& a, const Element& b) {
                        if (a.failed != b.failed) return a.failed;
                        return a.ratio != b.ratio ? a.ratio > b.ratio : a.j < b.j;
                      });
    list.resize(n);
    return list;
  }

  std::string selection() const {
    std::string s = "  rank        exact column (logit); got column, value\n";
    for (std::int64_t r = 0; r < std::min<std::int64_t>(run_->problem().k, 8); ++r) {
      const auto at = static_cast<std::size_t>(r);
      const std::int64_t exact = at < truth_.order.size() ? truth_.order[at] : -1;
      s += fmt::format("  {:<11} {} ({}); {}, {}\n", r, exact,
                       exact < 0 ? "none" : number(truth_.x[static_cast<std::size_t>(exact)]),
                       run_->index(row_, r), number(decode(v_.out(), run_->value_bits(row_, r))));
    }
    return s;
  }

  const Variant& v_;
  const Op op_;
  const std::int64_t row_;
  const GuardedLaunch* run_;
  const Terms terms_;
  const RowTruth truth_;
};

}  // namespace

std::string explain(const Variant& v, Op op, const Trial& t, const Record& record) {
  std::string s =
      fmt::format("{}: {} of {} rows x {} {}{}\n", v.key(), assay::name(op), t.logits.rows, t.logits.V,
                  assay::name(t.logits.dtype), picks(op) ? ", " + words_of(op, t.pick) : "");
  s += fmt::format("judged as {}\n", claimed_class(v));
  if (t.pitch_gap || t.first || t.max_blocks || t.schedule)
    s += fmt::format(
        "rows {} apart, the first {} elements off alignment, at most {} blocks (0: any), schedule {}\n",
        t.logits.V + t.pitch_gap, t.first, t.max_blocks, t.schedule);
  Layout layout = plain_layout();
  layout.in_gap = layout.out_gap = t.pitch_gap;
  layout.offset = t.first;
  layout.launch.schedule = t.schedule;
  layout.launch.max_blocks = t.max_blocks;
  GuardedLaunch run(v, problem_of(v, op, t.logits.rows, t.logits.V, t.pick, t.logits.V), t.logits, layout);
  // A trial that crashed or hung would do so again.
  const bool gone = record.status == Status::crashed || record.status == Status::hung;
  const LaunchOutcome outcome = gone ? LaunchOutcome{record.reason, Ended::crashed} : run.run();
  if (!outcome.ok()) s += "the launch: " + outcome.fault + "\n";
  // The failing rows; first the row of the worst element.
  std::vector<std::int64_t> rows;
  if (record.worst && record.worst->row >= 0 && record.worst->row < t.logits.rows)
    rows.push_back(record.worst->row);
  for (std::int64_t r = 0; r < t.logits.rows && static_cast<std::int64_t>(rows.size()) < kRowsShown; ++r)
    if (std::find(rows.begin(), rows.end(), r) == rows.end()) rows.push_back(r);
  for (std::int64_t r : rows) s += RowText(v, op, t.logits, r, outcome.ok() ? &run : nullptr).text();
  for (const CheckResult& c : record.checks)
    if (c.failed > 0)
      s += fmt::format("failed {}: {} of {}{}{}\n", name(c.check), c.failed, c.judged,
                       c.detail.empty() ? "" : ": ", c.detail);
  if (!record.behaves_like.empty()) s += "nearest class: " + record.behaves_like + "\n";
  if (!record.returned.empty()) s += "returned: " + record.returned + "\n";
  return s;
}

}  // namespace assay::fuzz

// SPDX-License-Identifier: Apache-2.0
#include "accuracy/verdict/judgement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "accuracy/backward/judge.hpp"
#include "accuracy/judge/judged_row.hpp"
#include "accuracy/probes/probes.hpp"
#include "accuracy/verdict/checker.hpp"

namespace assay {
namespace {

bool judged_by_element(const RowTruth& t) { return t.kind == RowKind::finite || t.kind == RowKind::masked; }

/// The sign of a NaN has no meaning and is not shown.
std::string word(double x) { return std::isnan(x) ? "NaN" : fmt::format("{:g}", x); }

}  // namespace

Judgement::Judgement(const Variant& variant, const Case& c, Op op, ErrorProfile* profile,
                     std::optional<double> max_ulp, const SumLimit& limit)
    : variant_(variant),
      case_(c),
      op_(op),
      profile_(profile),
      max_ulp_(max_ulp),
      terms_(limited(terms_of(variant.claim, variant.backend, variant.out(), c.V()), limit)) {
  // If the logits are not known exactly, the rounding of their differences is not known either.
  if (c.loose()) terms_.any_shift = true;
  statistics.keeps_ends = max_ulp.has_value();
}

void Judgement::judge_rows(const WrittenRows& run, bool first) {
  for (std::int64_t row = 0; row < run.problem().rows; ++row) {
    const auto before = tally.failed();
    judge_one(run, row, first);
    if (tally.failed() > before) wrong_rows.insert(row);
  }
}

std::int64_t Judgement::judge_until(const WrittenRows& run, std::span<const std::int64_t> order,
                                    const std::function<bool()>& enough) {
  for (const std::int64_t row : order) {
    judge_one(run, row, true);
    if (enough()) return row;
  }
  return -1;
}

std::int64_t Judgement::promised_columns(const WrittenRows& run, std::int64_t row) const {
  const std::int64_t all = run.problem().out_columns();
  return all > 0 && variant_.claim.causal == Causal::lower ? own_columns(variant_.claim, row, all) : all;
}

void Judgement::require_written(const GuardedLaunch& a, const GuardedLaunch& b) {
  const bool writes_normalizer = a.has_normalizer() && case_.V() > 0;
  for (std::int64_t row = 0; row < a.problem().rows; ++row) {
    const bool twice = row < b.problem().rows;
    const std::int64_t named = case_.part().row(row);
    const auto judge = [&](bool untouched, const char* what, std::int64_t j) {
      if (!tally.require(Check::written, !untouched) && tally.first(Check::written))
        tally.at(Check::written)
            .take_violation({.row = named}, fmt::format("row {}: {} {} was never written", named, what, j));
    };
    const bool of_columns = !selects(op_) && !one_value(op_);
    for (std::int64_t j = 0; j < promised_columns(a, row); ++j)
      judge(a.value_poisoned(row, j) || (twice && b.value_poisoned(row, j)), "element",
            of_columns ? case_.part().column(j) : j);
    if (a.has_indices())
      for (std::int64_t j = 0; j < a.problem().k; ++j)
        judge(a.index_poisoned(row, j) || (twice && b.index_poisoned(row, j)), "index", j);
    if (writes_normalizer) {
      judge(a.m_poisoned(row) || (twice && b.m_poisoned(row)), "m of row", named);
      judge(a.d_poisoned(row) || (twice && b.d_poisoned(row)), "d of row", named);
    }
    if (case_.V() == 0 && !selects(op_) && a.has_normalizer() &&
        !tally.require(Check::special, a.m_poisoned(row) && a.d_poisoned(row) &&
                                           (!twice || (b.m_poisoned(row) && b.d_poisoned(row)))) &&
        tally.first(Check::special))
      tally.at(Check::special).detail = fmt::format("row {}: V = 0 must write nothing", row);
  }
}

bool Judgement::same_outputs(const GuardedLaunch& a, const GuardedLaunch& b, std::string* where) const {
  const auto differ = [&](std::int64_t row, const char* what, std::int64_t j, double x, double y) {
    if (where) *where = fmt::format("row {}, {} {}: {:a} and {:a}", row, what, j, x, y);
    return false;
  };
  const Dtype t = variant_.out();
  const std::int64_t rows = std::min(a.problem().rows, b.problem().rows);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t j = 0; j < promised_columns(a, row); ++j) {
      const std::uint64_t x = a.value_bits(row, j), y = b.value_bits(row, j);
      if (x != y && !(is_nan_bits(t, x) && is_nan_bits(t, y)))
        return differ(row, "element", j, decode(t, x), decode(t, y));
    }
    if (a.has_indices())
      for (std::int64_t j = 0; j < a.problem().k; ++j)
        if (a.index(row, j) != b.index(row, j))
          return differ(row, "index", j, static_cast<double>(a.index(row, j)),
                        static_cast<double>(b.index(row, j)));
    if (a.has_normalizer() && case_.V() > 0) {
      const auto same = [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); };
      if (!same(a.m(row), b.m(row)))
        return differ(row, "m of row", row, static_cast<double>(a.m(row)), static_cast<double>(b.m(row)));
      if (!same(a.d(row), b.d(row)))
        return differ(row, "d of row", row, static_cast<double>(a.d(row)), static_cast<double>(b.d(row)));
    }
  }
  return true;
}

void Judgement::judge_one(const WrittenRows& run, std::int64_t row, bool first) {
  RowOutput got;
  const std::int64_t columns = run.has_values() ? run.problem().out_columns() : 0;
  values_.resize(static_cast<std::size_t>(columns));
  bits_.resize(values_.size());
  for (std::int64_t j = 0; j < columns; ++j) {
    const std::uint64_t b = run.value_bits(row, j);
    bits_[static_cast<std::size_t>(j)] = b;
    values_[static_cast<std::size_t>(j)] = decode(variant_.out(), b);
  }
  got.values = values_;
  got.bits = bits_;
  if (run.has_indices()) {
    indices_.resize(static_cast<std::size_t>(run.problem().k));
    for (std::int64_t j = 0; j < run.problem().k; ++j)
      indices_[static_cast<std::size_t>(j)] = run.index(row, j);
    got.indices = indices_;
  }
  if (run.has_normalizer()) {
    got.has_normalizer = true;
    got.m = static_cast<double>(run.m(row));
    got.d = static_cast<double>(run.d(row));
  }

  if (op_ == Op::softmax_backward) {
    judge_backward_row(row, got, first);
    return;
  }
  const RowTruth& t = case_.truth(row);
  const PreparedRow prepared =
      prepare_row(variant_.claim, terms_, t, op_, run.problem().pick(), &case_.shift(row));
  std::string why = prepared.outside;
  // Limits are of what is stored. What a kernel leaves out is -inf in its own logits alone.
  const bool own_logits = case_.transformed();
  if (why.empty()) why = own_logits ? outside_own(variant_, t.x) : outside_values(variant_, t.x);
  const bool causal = variant_.claim.causal != Causal::no;
  if (why.empty() && (causal || own_logits)) why = outside_stored(variant_, stored_row(row));
  if (causal && columns > 0) {
    const auto own = static_cast<std::size_t>(own_columns(variant_.claim, row, columns));
    if (why.empty()) judge_behind_diagonal(row, t, own);
    got.values = got.values.first(own);
    got.bits = got.bits.first(own);
  }
  if (!why.empty()) {
    unjudged_rows.insert(row);
    if (first) {
      ++rows_outside;
      if (outside_reason.empty()) outside_reason = why;
      note_returned(row, got);
    }
    return;
  }
  if (first) ++rows_judged;
  if (first && t.m > -INFINITY) {
    lowest_maximum = std::min(lowest_maximum.value_or(t.m), t.m);
    highest_maximum = std::max(highest_maximum.value_or(t.m), t.m);
  }
  if (first && !judged_by_element(t)) note_returned(row, got);

  const RowCase row_case{&t, case_.part().row(row), &case_.part()};
  ErrorStatistics ignored;
  judge_row(variant_.claim, terms_, variant_.dtype, variant_.out(), row_case, prepared, op_, got, tally,
            first ? statistics : ignored, first ? profile_ : nullptr);
  if (max_ulp_ && first) judge_promise(row_case);
  // There wrong outputs are refused, but it cannot be said that others are right.
  if (first && log_probabilities(op_) && prepared.bounds && absorbed(variant_.claim, terms_, t)) {
    --rows_judged;
    ++rows_outside;
    if (outside_reason.empty())
      outside_reason = fmt::format(
          "lse {:.6g} is beyond {:g}, where x - lse absorbs the result: "
          "--declare 'log_form=shifted' to be judged there",
          t.lse.lo, largest_absorbing_lse(variant_.claim));
  }
}

std::vector<double> Judgement::stored_row(std::int64_t row) const {
  std::vector<double> x(static_cast<std::size_t>(case_.V()));
  for (std::int64_t j = 0; j < case_.V(); ++j) x[static_cast<std::size_t>(j)] = case_.logits().at(row, j);
  return x;
}

void Judgement::judge_behind_diagonal(std::int64_t row, const RowTruth& t, std::size_t own) {
  if (variant_.claim.causal != Causal::zeros) return;
  // A row that is NaN because of its own columns may be NaN everywhere: these outputs too are divided by a
  // sum that is NaN.
  const bool nan_too = !judged_by_element(t);
  for (std::size_t j = own; j < values_.size(); ++j) {
    const double g = values_[j];
    const bool zero = g == 0 && !std::signbit(g);
    if (!tally.require(Check::special, zero || (nan_too && std::isnan(g))) && tally.first(Check::special))
      tally.at(Check::special).detail = fmt::format(
          "row {}, column {}: behind the diagonal, which is at column {}, must be exactly 0, got {}", row, j,
          own - 1, word(g));
  }
}

void Judgement::judge_backward_row(std::int64_t row, const RowOutput& got, bool first) {
  const Tensor &y = case_.logits(), &dy = *case_.gradients();
  const BackwardRow r = backward_row(y, dy, row);
  std::string why = r.special ? std::string() : outside_backward(variant_.claim, r);
  if (why.empty()) why = outside_values(variant_, r.y);
  if (why.empty()) why = outside_values(variant_, r.dy);
  if (first && (r.special || !why.empty())) note_returned(row, got);
  if (!why.empty()) {
    if (!first) return;
    ++rows_outside;
    if (outside_reason.empty()) outside_reason = why;
    return;
  }
  if (first) ++rows_judged;
  ErrorStatistics ignored;
  const BackwardContext c{
      terms_, variant_.out(), row, r, tally, first ? statistics : ignored, first ? profile_ : nullptr};
  if (r.special) {
    judge_special_backward(c, got.values);
    return;
  }
  judge_backward(c, got.values, got.bits, [&] {
    std::vector<NamedSum> beside;
    for (const std::int64_t other : {row - 1, row + 1})
      if (other >= 0 && other < case_.rows())
        if (const BackwardRow o = backward_row(y, dy, other); !o.special)
          beside.push_back({fmt::format("row {}", other), o.s.lo});
    return beside;
  });
  if (max_ulp_ && first) judge_promise({nullptr, row});
}

void Judgement::judge_promise(const RowCase& row) {
  for (; promised_ < statistics.ends.size(); ++promised_) {
    const auto [least, most] = statistics.ends[promised_];
    if (!tally.judge(Check::max_ulp, least, most, *max_ulp_, *max_ulp_) && tally.first(Check::max_ulp))
      tally.at(Check::max_ulp).detail =
          fmt::format("row {}: an element is {:.10g} ulp from the exact value, {:g} were promised", row.row,
                      least, *max_ulp_);
  }
}

void Judgement::note_returned(std::int64_t row, const RowOutput& got) {
  if (!returned.empty()) return;
  if (!got.values.empty())
    returned = fmt::format("row {}: {}", row, describe_values(got.values));
  else if (case_.V() == 0)
    returned = "nothing written";
  else if (got.has_normalizer)
    returned = fmt::format("row {}: (m, d) = ({}, {})", row, word(got.m), word(got.d));
}

// Probes of lse and log-softmax. Their sum shows only through a logarithm, so it is judged as on any row. The
// rows are those that leave a claim the least room.

namespace {

using namespace probe;

/// Runs the variant on these rows as a separate case. The claim is refuted if any check fails.
void judge_rows(const Variant& v, const char* what, Tensor rows, Observation& o) {
  const std::int64_t V = rows.V;
  const Record r = check_case(v, Case(what, std::move(rows)), v.op, 0);
  double share = 0;
  for (const CheckResult& c : r.checks) {
    o.judged += c.judged;
    share = std::max(share, c.utilisation);
    if (c.failed > 0) o.refute(fmt::format("{}: {} fails: {}", what, name(c.check), c.detail));
  }
  o.saw += fmt::format("{}{} at V = {} use {:.2f} of the bound", o.saw.empty() ? "" : "; ", what, V, share);
}

}  // namespace

void probe_logs(const Variant& v, std::vector<Observation>& out) {
  Observation accumulator{.probe = "accumulator"}, height{.probe = "height"}, order{.probe = "order"};
  for (std::int64_t V : {259, 2051, 4099, 131071})
    judge_rows(v, "equal logits", Tensor(v.dtype, 1, V), accumulator);
  const Terms terms = terms_of(v.claim, v.backend, v.out(), 1);
  for (std::int64_t V : {1025, 16385}) {
    const double below = -next_up(v.dtype, round_to(v.dtype, -std::log(terms.u)));
    Tensor rows(v.dtype, 2, V);
    for (std::int64_t j = 0; j < V; ++j) {
      rows.set(0, j, j == 0 ? 0 : below);
      rows.set(1, j, j == V - 1 ? 0 : below);
    }
    judge_rows(v, "logits of half an ulp around a 0", std::move(rows), height);
  }
  for (std::int64_t V : {std::int64_t{4099}, std::int64_t{16385}, kProbeV}) {
    Tensor rows(v.dtype, std::ssize(kBelowHalfUlp), V);
    for (std::int64_t r = 0; r < rows.rows; ++r)
      for (std::int64_t j = 0; j < V; ++j)
        rows.set(r, j, j == V / 2 ? 0 : std::log(terms.u) - kBelowHalfUlp[r]);
    judge_rows(v, "many logits far below a 0", std::move(rows), height);
  }
  constexpr std::int64_t kRamp = 16384;
  Tensor ramps(v.dtype, 2, kRamp);
  for (std::int64_t j = 0; j < kRamp; ++j) {
    ramps.set(0, j, 3 * static_cast<double>(j) / static_cast<double>(kRamp));
    ramps.set(1, kRamp - 1 - j, 3 * static_cast<double>(j) / static_cast<double>(kRamp));
  }
  judge_rows(v, "ramps up and down", std::move(ramps), order);
  if (accumulator.refuted == 0) accumulator.trait = fmt::format("sum like {}", name(terms.arithmetic));
  if (height.refuted == 0 && v.claim.height)
    height.trait = fmt::format("height within {} at V = 16385", v.claim.height(16385));
  if (order.refuted == 0) order.trait = fmt::format("{} or sharper", name(v.claim.algorithm));
  out.push_back(std::move(accumulator));
  out.push_back(std::move(height));
  out.push_back(std::move(order));
  out.push_back({.probe = "arithmetic", .skipped = "a logarithm hides the exp, and nothing is divided"});
}

}  // namespace assay

#include "accuracy/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "accuracy/guarded.hpp"
#include "kernels/device.hpp"

namespace assay {

Case::Case(const Family& family, Dtype dtype, std::int64_t V, std::int64_t rows, std::uint64_t seed)
    : family_(family.name), seed_(seed), logits_(make_input(family, dtype, V, rows, seed)) {
  prepare();
}

Case::Case(std::string name, Tensor logits) : family_(std::move(name)), logits_(std::move(logits)) {
  prepare();
}

void Case::prepare() {
  truth_ = assay::truth(logits_);
  shift_.reserve(truth_.size());
  for (const RowTruth& t : truth_) shift_.push_back(shift_of(t, Dtype::f32, true));
}

std::int64_t Case::undecided() const {
  std::int64_t n = 0;
  for (const RowTruth& t : truth_) n += t.undecided;
  return n;
}

Record blank_record(const Variant& variant, const std::string& family, Op op, std::int64_t V,
                    std::int64_t rows, int k, std::uint64_t seed) {
  Record r;
  r.key = variant.key();
  r.variant = variant.variant;
  r.dtype = name(variant.dtype);
  r.backend = name(variant.backend);
  r.op = name(op);
  r.family = family;
  r.rows = rows;
  r.V = V;
  r.k = selects(op) ? k : 0;
  r.seed = seed;
  r.reproduce = fmt::format("assay report --key {} --family {} --V {} --rows {} --seed {}", r.key, family, V,
                            rows, seed);
  if (selects(op)) r.reproduce += fmt::format(" --k {}", k);
  if (op != variant.op) r.reproduce += fmt::format(" --op {}", name(op));
  return r;
}

namespace {

bool judged_by_element(const RowTruth& t) { return t.kind == RowKind::finite || t.kind == RowKind::masked; }

/// Everything check_case holds while it judges one case.
class Judgement {
 public:
  Judgement(const Variant& variant, const Case& c, Op op, const CheckOptions& options)
      : variant_(variant),
        case_(c),
        op_(op),
        options_(options),
        terms_(terms_of(variant.claim, variant.backend, variant.dtype, c.V())) {}

  /// Judges all rows of one launch. Statistics are only gathered from the first.
  void judge_rows(const GuardedLaunch& run, bool first) {
    for (std::int64_t row = 0; row < case_.rows(); ++row) judge_row(run, row, first);
  }

  /// No element may hold the poison of its launch: arithmetic makes neither pattern. At V = 0 an op other
  /// than top-k must leave its poison alone.
  void judge_written(const GuardedLaunch& a, const GuardedLaunch& b) {
    const bool writes_normalizer = a.has_normalizer() && case_.V() > 0;
    const auto judge = [&](bool untouched, std::int64_t row, const char* what, std::int64_t j) {
      if (!tally.require(Check::written, !untouched) && tally.first(Check::written))
        tally.at(Check::written).detail = fmt::format("row {}: {} {} was never written", row, what, j);
    };
    for (std::int64_t row = 0; row < case_.rows(); ++row) {
      for (std::int64_t j = 0; j < a.problem().out_columns(); ++j)
        judge(a.value_poisoned(row, j) || b.value_poisoned(row, j), row, "element", j);
      if (a.has_indices())
        for (std::int64_t j = 0; j < a.problem().k; ++j)
          judge(a.index_poisoned(row, j) || b.index_poisoned(row, j), row, "index", j);
      if (writes_normalizer) {
        judge(a.m_poisoned(row) || b.m_poisoned(row), row, "m of row", row);
        judge(a.d_poisoned(row) || b.d_poisoned(row), row, "d of row", row);
      }
      if (case_.V() == 0 && !selects(op_) && a.has_normalizer() &&
          !tally.require(Check::special,
                         a.m_poisoned(row) && a.d_poisoned(row) && b.m_poisoned(row) && b.d_poisoned(row)) &&
          tally.first(Check::special))
        tally.at(Check::special).detail = fmt::format("row {}: V = 0 must write nothing", row);
    }
  }

  /// Bitwise equality of two launches, NaN by class.
  bool same_outputs(const GuardedLaunch& a, const GuardedLaunch& b, std::string* where) const {
    const auto differ = [&](std::int64_t row, const char* what, std::int64_t j, double x, double y) {
      if (where) *where = fmt::format("row {}, {} {}: {:a} and {:a}", row, what, j, x, y);
      return false;
    };
    const Dtype t = variant_.dtype;
    for (std::int64_t row = 0; row < case_.rows(); ++row) {
      for (std::int64_t j = 0; j < a.problem().out_columns(); ++j) {
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

  Tally tally;
  ErrorStatistics statistics;
  std::int64_t rows_judged = 0, rows_outside = 0;
  std::string outside_reason, returned;

 private:
  void judge_row(const GuardedLaunch& run, std::int64_t row, bool first) {
    const RowTruth& t = case_.truth(row);
    RowOutput got;
    const std::int64_t columns = run.problem().out_columns();
    values_.resize(static_cast<std::size_t>(columns));
    bits_.resize(values_.size());
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::uint64_t b = run.value_bits(row, j);
      bits_[static_cast<std::size_t>(j)] = b;
      values_[static_cast<std::size_t>(j)] = decode(variant_.dtype, b);
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

    const bool sums = op_ != Op::topk;
    std::optional<RowBounds> bounds;
    RoundedShift own_shift;
    const RoundedShift* shift = &case_.shift(row);
    if (judged_by_element(t) && sums) {
      if (terms_.arithmetic != Dtype::f32 || !terms_.shifted) {
        own_shift = shift_of(t, terms_.arithmetic, terms_.shifted);
        shift = &own_shift;
      }
      bounds = row_bounds(terms_, t, *shift);
    }
    if (std::string why = sums ? outside_domain(variant_.claim, t, bounds ? bounds->b : 0) : "";
        !why.empty()) {
      if (first) {
        ++rows_outside;
        if (outside_reason.empty()) outside_reason = why;
        note_returned(row, got);
      }
      return;
    }
    if (first) ++rows_judged;
    if (first && !judged_by_element(t)) note_returned(row, got);

    const RowCase row_case{&t, row};
    ErrorStatistics ignored;
    const RowContext context{variant_.claim,
                             terms_,
                             variant_.dtype,
                             row_case,
                             bounds ? &*bounds : nullptr,
                             bounds ? shift : nullptr,
                             tally,
                             first ? statistics : ignored,
                             first ? options_.observer : nullptr};
    if (selects(op_))
      judge_topk(context, op_, got);
    else if (op_ == Op::softmax && context.bounds)
      judge_probabilities(context, got);
    else if (op_ == Op::softmax)
      judge_special(context, got);
    if (got.has_normalizer && t.kind != RowKind::empty) judge_normalizer(context, got);
  }

  /// A NaN's sign means nothing and is not shown.
  static std::string word(double x) { return std::isnan(x) ? "NaN" : fmt::format("{:g}", x); }

  void note_returned(std::int64_t row, const RowOutput& got) {
    if (!returned.empty()) return;
    if (!got.values.empty())
      returned = fmt::format("row {}: {}", row, describe_values(got.values));
    else if (case_.V() == 0)
      returned = "nothing written";
    else if (got.has_normalizer)
      returned = fmt::format("row {}: (m, d) = ({}, {})", row, word(got.m), word(got.d));
  }

  const Variant& variant_;
  const Case& case_;
  Op op_;
  const CheckOptions& options_;
  Terms terms_;
  std::vector<double> values_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::int64_t> indices_;
};

void fill_statistics(Record& r, Judgement& j) {
  ErrorStatistics& s = j.statistics;
  double ratio = 0;
  bool any_bound = false;
  for (Check c : {Check::element, Check::coherence, Check::row_sum, Check::normalizer})
    if (j.tally.at(c).judged > 0) {
      any_bound = true;
      ratio = std::max(ratio, j.tally.at(c).utilisation);
    }
  if (any_bound) r.max_bound_ratio = ratio;
  if (s.ulp.empty()) return;
  const auto n = static_cast<double>(s.ulp.size());
  r.max_ulp = static_cast<double>(*std::max_element(s.ulp.begin(), s.ulp.end()));
  const auto p99 = s.ulp.begin() + static_cast<std::ptrdiff_t>(std::ceil(0.99 * n) - 1);
  std::nth_element(s.ulp.begin(), p99, s.ulp.end());
  r.p99_ulp = static_cast<double>(*p99);
  r.mean_ulp = s.sum_ulp / n;
  r.correctly_rounded = static_cast<double>(s.correctly_rounded) / n;
  r.weak_share = static_cast<double>(s.weak) / n;
  r.worst = s.worst;
}

void decide_status(Record& r, const Variant& variant, const Judgement& j) {
  const ErrorStatistics& s = j.statistics;
  if (j.tally.failed() > 0) {
    r.status = Status::fail;
    r.reason = "failed: " + j.tally.failed_names();
  } else if (j.tally.undecided() > 0) {
    r.status = Status::inconclusive;
    r.reason = fmt::format("{} comparisons undecided", j.tally.undecided());
  } else if (r.rows > 0 && j.rows_judged == 0) {
    r.status = Status::unsupported;
    r.reason = "domain: " + j.outside_reason;
  } else if (s.visible > 0 && s.visible == s.visible_weak && variant.claim.internals == Internals::f32) {
    r.status = Status::inconclusive;
    r.reason = "bound too weak";
  } else {
    r.status = Status::pass;
    if (j.rows_outside > 0)
      r.reason =
          fmt::format("{} of {} rows outside the domain: {}", j.rows_outside, r.rows, j.outside_reason);
  }
}

}  // namespace

Record check_case(const Variant& variant, const Case& c, Op op, int k, const CheckOptions& options) {
  Record r = blank_record(variant, c.family(), op, c.V(), c.rows(), k, c.seed());
  if (!variant.does(op)) {
    r.status = Status::unsupported;
    r.reason = std::string("op: the variant does not compute ") + name(op);
    return r;
  }
  if (selects(op) && k > variant.max_k) {
    r.status = Status::unsupported;
    r.reason = fmt::format("k: {} exceeds the variant's {}", k, variant.max_k);
    return r;
  }
  if (std::string why = unavailable_reason(variant.backend); !why.empty()) {
    r.reason = why;
    return r;
  }

  Problem p;
  p.op = op;
  p.in = p.out = variant.dtype;
  p.rows = c.rows();
  p.V = c.V();
  p.k = selects(op) ? k : 0;

  Judgement j(variant, c, op, options);
  const auto run = [&](GuardedLaunch& launch) {
    const LaunchOutcome outcome = launch.run();
    if (!j.tally.require(Check::launch, outcome.ok()) && j.tally.first(Check::launch))
      j.tally.at(Check::launch).detail = outcome.fault;
    if (outcome.ok()) launch.inspect(j.tally);
    return outcome.ok();
  };
  GuardedLaunch plain(variant, p, c.logits(), plain_layout());
  GuardedLaunch hostile(variant, p, c.logits(), hostile_layout());
  const bool plain_ok = run(plain);
  const bool hostile_ok = run(hostile);
  if (plain_ok) j.judge_rows(plain, true);
  if (plain_ok && hostile_ok) {
    j.judge_written(plain, hostile);
    std::string where;
    bool same = j.same_outputs(plain, hostile, &where);
    // Another layout may round differently; then it must be just as right, and each layout must repeat
    // itself bit for bit whatever the schedule.
    if (!same) j.judge_rows(hostile, false);
    if (variant.claim.determinism != Determinism::not_guaranteed) {
      if (!same) {
        same = true;
        for (int n = 1; n <= 4 && same; ++n) {
          const bool as_first = n <= 2;
          Layout again = as_first ? plain_layout() : hostile_layout();
          again.poison = 1 - again.poison;
          again.launch = {hostile_layout().launch.schedule + static_cast<std::uint64_t>(n), as_first ? 2 : 0};
          GuardedLaunch repeated(variant, p, c.logits(), again);
          same = run(repeated) && j.same_outputs(as_first ? plain : hostile, repeated, &where);
        }
      }
      if (!j.tally.require(Check::repeat, same) && j.tally.first(Check::repeat))
        j.tally.at(Check::repeat).detail = "two launches on the same inputs differ: " + where;
    }
  }
  r.rows_judged = j.rows_judged;
  r.rows_outside = j.rows_outside;
  r.returned = j.returned;
  fill_statistics(r, j);
  r.checks = j.tally.results();
  decide_status(r, variant, j);
  return r;
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "accuracy/verdict/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "accuracy/probes/measured_sum.hpp"
#include "accuracy/verdict/checker.hpp"

namespace assay {
namespace {

/// A measurement with the fewest rows launches at most this many.
constexpr std::int64_t kRowsOfAMeasurement = 32;

/// A judgement under one limit, and the case of the oracle's tier that decided it.
struct Judged {
  std::unique_ptr<Judgement> j;
  const Case* by = nullptr;
  std::int64_t escalated = 0;

  bool ended() const { return j->ended != Ended::normally; }
  bool failed() const { return j->tally.failed() > 0; }
  bool weak() const { return j->tally.unbounded() > 0 || j->statistics.resolution.over_limit() > 1; }
  bool passes() const { return !ended() && !failed() && j->tally.undecided() == 0; }
};

/// True if only checks of the sum failed.
bool only_of_the_sum(const Tally& t) {
  for (int c = 0; c < kChecks; ++c) {
    const auto check = static_cast<Check>(c);
    if (t.at(check).failed > 0 && std::ranges::find(kOfTheSum, check) == std::end(kOfTheSum)) return false;
  }
  return true;
}

/// Shorter rows are measured in any case: there a measurement is cheap and shows most exactly what is wrong.
constexpr std::int64_t kLong = 64;

class Verdict {
 public:
  Verdict(Record record, const Variant& variant, const Case& c, Op op, const VerdictOptions& options,
          const std::function<void(Judgement&)>& look)
      : record_(std::move(record)), variant_(variant), case_(c), op_(op), options_(options), look_(look) {}

  Record declared() {
    Judged claimed = judged({});
    if (!claimed.passes() || !claimed.weak()) return concluded(claimed);
    return concluded(sharper(std::move(claimed)));
  }

  Record undeclared() {
    // A measurement takes more launches than all else of a case. It is for outputs that a sum may explain.
    // Where one case fails as any sum of V terms, the next one does, too: the order changes no record.
    thread_local bool failed_before = false;
    const auto as_any_sum = [&]() -> std::optional<Record> {
      Judged serial = judged({});
      failed_before = serial.failed();
      return failed_before ? std::optional(concluded(serial)) : std::nullopt;
    };
    const bool may_be_hopeless = options_.launches && case_.V() >= kLong;
    if (may_be_hopeless && failed_before)
      if (std::optional<Record> r = as_any_sum()) return *std::move(r);
    // A kernel that can be launched is first assumed to sum in a tree, as most do.
    if (options_.launches) {
      SumLimit few{kFewAdditions, kFewAdditions};
      few.shifted_logs = true;
      Judged sharp = judged(few);
      if (sharp.passes() && !sharp.weak()) return concluded(sharp);
      if (sharp.ended() || !only_of_the_sum(sharp.j->tally)) return concluded(judged({}));
      if (may_be_hopeless)
        if (std::optional<Record> r = as_any_sum()) return *std::move(r);
    }

    // A measurement needs a plain sum of exps.
    const std::string other = not_plain_rows(variant_, op_);
    if (other.empty())
      if (std::optional<Record> r = held_to_few_leaves()) return *std::move(r);
    MeasuredSum seen = !other.empty()      ? MeasuredSum{0, other}
                       : options_.launches ? measured(0)
                                           : MeasuredSum{0, "outputs alone"};
    // As many rows as the case has were taken once.
    if (seen.was_refused() && case_.rows() > seen.rows) seen = measured(case_.rows());
    if (refutes(seen)) return refuted(seen);
    if (seen.height > 0) {
      bool outside = false;
      Record r = held_to(seen, outside);
      if (!outside || case_.rows() <= kRowsOfAMeasurement) return r;
      // Many rows may take another path than the few that were measured.
      const MeasuredSum many = measured(case_.rows());
      if (refutes(many)) return refuted(many);
      if (many.height > seen.height) return held_to(many, outside);
      if (many.height > 0) return r;
      seen = many;
    }
    // If nothing was launched, or no sum shows, the outputs are judged with roundings of mixed sign.
    const auto n = static_cast<double>(case_.V());
    Judged mixed = judged({kMixedSign * std::sqrt(n), kFewAdditions});
    if (mixed.passes() && !mixed.weak()) {
      Record r = concluded(mixed);
      if (seen.was_refused()) r.evidence.push_back("judged with roundings of mixed sign: " + seen.saw);
      return r;
    }
    Judged serial = judged({});
    if (!serial.passes()) return concluded(serial);
    // The bound is sharp enough if it refuses half of what one of 256 threads adds to the sum, because the
    // other checks have launched the kernel too.
    if (options_.launches && !serial.weak() && serial.j->statistics.resolution.of_element() <= 1.0 / 512) {
      Record loose = concluded(serial);
      loose.evidence.push_back("judged as a serial sum; it was not measured: " + seen.saw);
      return loose;
    }
    Record r = concluded(serial);
    if (r.status != Status::pass && r.status != Status::inconclusive) return r;
    r.status = Status::inconclusive;
    r.reason = fmt::format(
        "bound too weak: the error is larger than roundings of mixed sign make it, but within the worst case "
        "of a serial sum ({}); --declare 'height=...' settles it",
        options_.launches ? "the sum was not measured: " + seen.saw : seen.saw);
    return r;
  }

 private:
  MeasuredSum measured(std::int64_t rows) const { return measured_sum(variant_, case_.V(), rows); }

  Judged judged(const SumLimit& limit) {
    if (options_.profile && judged_before_) options_.profile->restart();
    judged_before_ = true;
    Judged one = by_tier(case_, limit);
    one.escalated = one.j->tally.undecided();
    if (one.escalated == 0 || case_.tier() == Tier::mpfr) {
      one.escalated = 0;
      return one;
    }
    // MPFR decides what fp64 enclosures leave undecided.
    if (options_.profile) options_.profile->restart();
    Judged exact = by_tier(case_.by_mpfr(), limit);
    exact.escalated = one.escalated;
    return exact;
  }

  Judged by_tier(const Case& c, const SumLimit& limit) {
    Judged one{std::make_unique<Judgement>(variant_, c, op_, options_.profile, options_.max_ulp, limit), &c};
    look_(*one.j);
    // A kernel that is run again to look for differences may not fail twice. So a failure of the first run
    // counts.
    for (const Check check :
         {Check::launch, Check::guard, Check::inputs, Check::written, Check::repeat, Check::late_write}) {
      CheckResult& now = one.j->tally.at(check);
      if (seen_.at(check).failed > now.failed) now = seen_.at(check);
      seen_.at(check) = now;
    }
    if (one.j->ended == Ended::normally) one.j->ended = ended_, one.j->fault = fault_;
    ended_ = one.j->ended;
    fault_ = one.j->fault;
    return one;
  }

  /// A pass under so weak a bound does not count. The outputs may still be within a bound that tells right
  /// from wrong.
  Judged sharper(Judged weak) {
    double height = std::min(weak.j->height(), static_cast<double>(case_.V()));
    double over = weak.j->statistics.resolution.over_limit();
    for (int n = 0; n < 20 && height > 1; ++n) {
      // To first order the room grows with the height. It grows more slowly if a few large terms are most of
      // the sum.
      height = std::floor(std::min(0.8 * height / std::min(over, 1e6), 0.5 * height));
      Judged next = judged({height, std::max(height, kFewAdditions)});
      if (!next.passes()) break;
      if (!next.weak()) return next;
      over = next.j->statistics.resolution.over_limit();
    }
    return weak;
  }

  bool refutes(const MeasuredSum& seen) const {
    if (!seen.refuted.empty()) return true;
    if (seen.went_wrong.ok() || seen.went_wrong.ended == Ended::lost) return false;
    // A refused launch of other rows says nothing of the case, whose launch was not refused.
    return !seen.was_refused() || seen.rows == case_.rows();
  }

  /// A fault that was seen while the sum was measured counts against the kernel.
  Record refuted(const MeasuredSum& seen) {
    Judged serial = judged({});
    Tally& tally = serial.j->tally;
    const LaunchOutcome& launch = seen.went_wrong;
    const Check check = launch.ok() ? Check::row_sum : Check::launch;
    tally.require(check, false);
    if (tally.first(check)) {
      tally.at(check).detail = launch.ok() ? seen.refuted : launch.fault;
      if (!launch.ok()) tally.at(check).cause = launch.kind, tally.at(check).of_measurement = true;
    }
    if (!serial.ended() && (launch.ended == Ended::crashed || launch.ended == Ended::hung))
      serial.j->ended = launch.ended, serial.j->fault = launch.fault;
    return concluded(serial);
  }

  /// On a GPU, where a measurement is made of many launches that take turns with others: the record, if the
  /// outputs pass as the sum that a few launches show, which is no longer than the measured one, or if they
  /// are proved wrong. Else empty; then the sum is measured.
  std::optional<Record> held_to_few_leaves() {
    if (!options_.launches || !on_device(variant_) || case_.V() < kLong) return {};
    const MeasuredSum few = measured_sum(variant_, case_.V(), 0, true);
    if (!few.refuted.empty() || !few.went_wrong.ok()) return {};
    // Both paths may be short ones of a long tree.
    if (static_cast<double>(few.height) < std::log2(static_cast<double>(case_.V()))) return {};
    Judged limited = within(few);
    if (!limited.passes()) {
      std::optional<Record> r = proved(limited);
      if (r) r->evidence.push_back(few.saw);
      return r;
    }
    if (limited.weak()) return {};
    return as_measured(limited, few);
  }

  /// The record, if a row that no serial sum explains is found.
  std::optional<Record> proved(const Judged& limited) {
    const std::optional<RaisedColumn> proof = proof_of(limited);
    if (!proof) return {};
    Record r = concluded(limited);
    r.left_out = proof->left_out ? std::optional(proof->column) : std::nullopt;
    r.reason += ": " + proof->detail;
    r.evidence.push_back(proof->detail);
    return r;
  }

  /// Judged as that sum, with an allowance.
  Judged within(const MeasuredSum& seen, double* height = nullptr, double* merges = nullptr) {
    // Only some of many leaves were tried, so a quarter and a few more additions are allowed.
    const double most = std::ceil(1.25 * static_cast<double>(seen.height)) + 8;
    // No tree of so few levels holds V terms: a wider accumulator hides the others.
    const bool hidden = static_cast<double>(seen.height) < std::log2(static_cast<double>(case_.V()));
    const double likely = std::min(most, likely_height(static_cast<double>(seen.height)));
    if (height) *height = most;
    if (merges) *merges = hidden ? kInf : most;
    Judged limited = judged({.height = likely, .merges = hidden ? kInf : most});
    return limited.passes() && limited.weak() ? sharper(std::move(limited)) : std::move(limited);
  }
  Record as_measured(const Judged& limited, const MeasuredSum& seen) {
    Record r = concluded(limited);
    r.evidence.push_back(fmt::format("judged as the sum that was measured: height {} at V = {} ({})",
                                     seen.height, case_.V(), seen.saw));
    return r;
  }

  /// `outside`: set to true if this sum does not explain the outputs, but a serial sum does.
  Record held_to(const MeasuredSum& seen, bool& outside) {
    outside = false;
    double height = 0, merges = 0;
    Judged limited = within(seen, &height, &merges);
    if (limited.passes() && !limited.weak()) return as_measured(limited, seen);
    const std::string what = fmt::format("height {} at V = {}", seen.height, case_.V());
    Judged serial = judged({});
    if (!serial.passes()) return concluded(serial);
    outside = true;
    const bool unlikely = limited.passes() || judged({.height = height, .merges = merges}).passes();
    std::optional<Record> proof = proved(limited);
    Record r = proof ? *std::move(proof) : concluded(serial);
    if (!proof) {
      if (r.status != Status::pass && r.status != Status::inconclusive) return r;
      r.behaves_like =
          fmt::format("{} the sum that was measured ({}); --declare 'height=V' if the kernel sums serially",
                      unlikely ? "less exact than roundings of mixed sign make" : "outside", what);
      r.status = Status::inconclusive;
      r.reason = "a measured sum is no proof: " + r.behaves_like;
      r.nearest = Nearest::beyond_measured;
    }
    r.evidence.push_back(seen.saw);
    return r;
  }

  /// A row that no serial sum explains, made from the first one that does not pass.
  std::optional<RaisedColumn> proof_of(const Judged& failed) const {
    const std::set<std::int64_t>& wrong = failed.j->wrong_rows;
    if (!options_.launches || wrong.empty() || case_.transformed() || !not_plain_rows(variant_, op_).empty())
      return {};
    constexpr std::int64_t kMostElements = std::int64_t{1} << 24;
    Tensor row(variant_.dtype, 1, case_.V());
    for (std::int64_t j = 0; j < case_.V(); ++j) row.set(0, j, case_.logits().at(*wrong.begin(), j));
    const std::int64_t most = std::max<std::int64_t>(1, kMostElements / case_.V());
    return raised_column(variant_, row, std::min(case_.rows(), most), [&](const Tensor& rows) {
      Variant serial = variant_;
      serial.claim.any_height = false;  // its height is the largest possible
      return check_case(serial, Case("left_out", rows), op_, options_.pick).status == Status::fail;
    });
  }

  /// The additions whose worst case a sum of `seen` additions hardly exceeds, over all rows: roundings of
  /// mixed sign, and what the terms of a row lose in the same direction. Those that are below half of a
  /// partial sum's last place are lost whole.
  double likely_height(double seen) const {
    const Terms terms = terms_of(variant_.claim, variant_.backend, variant_.out(), case_.V());
    double most = 0;
    for (std::int64_t row = 0; row < case_.rows() && most < 1; ++row)
      most = std::max(most, drift(terms, case_.truth(row), seen));
    return kMixedSign * std::sqrt(seen) + seen * std::min(1.0, most);
  }
  /// The mean error of adding one of the row's terms to a partial sum, in units of roundoff of the whole sum:
  /// the largest over the sizes that a partial sum goes through.
  static double drift(const Terms& t, const RowTruth& row, double seen) {
    if (row.kind != RowKind::finite && row.kind != RowKind::masked) return 0;
    const double n = static_cast<double>(row.finite);
    // Equal terms are rounded alike. A chain may hold nothing but such, whatever the mean over the row is.
    std::int64_t distinct = 1;
    for (std::size_t i = 0; i < row.x.size(); ++i)
      if (std::isfinite(row.x[i])) distinct = std::max<std::int64_t>(distinct, row.larger[i] + 1);
    if (4 * distinct < 3 * row.finite) return 1;
    // The largest term is not 1 where nothing is subtracted, or by exp2 of an FMA.
    const double scale =
        row.s.hi * std::exp(std::min(700.0, shift_of(row, t).f[static_cast<std::size_t>(row.argmax)]));
    const int top = std::ilogb(scale), steps = 8 + static_cast<int>(std::log2(std::max(1.0, n / seen)));
    double most = 0;
    for (int k = 0; k <= steps; ++k) {
      const double place = std::ldexp(2 * t.u, top - k);
      double lost = 0;
      for (const double p : row.hi) lost += std::nearbyint(p * scale / place) * place - p * scale;
      most = std::max(most, std::fabs(lost) / n / std::ldexp(t.u, top));
    }
    return most;
  }

  Record concluded(const Judged& one) {
    Record r = record_;
    r.escalated = one.escalated;
    return assay::concluded(std::move(r), variant_, *one.by, *one.j);
  }

  const Record record_;
  const Variant& variant_;
  const Case& case_;
  const Op op_;
  const VerdictOptions& options_;
  const std::function<void(Judgement&)>& look_;
  bool judged_before_ = false;
  Tally seen_;  // of checks that may not fail again in a repetition
  Ended ended_ = Ended::normally;
  std::string fault_;
};

}  // namespace

Record verdict(Record record, const Variant& variant, const Case& c, Op op, const VerdictOptions& options,
               const std::function<void(Judgement&)>& look) {
  Verdict v(std::move(record), variant, c, op, options, look);
  return variant.claim.any_height && op != Op::topk ? v.undeclared() : v.declared();
}

}  // namespace assay

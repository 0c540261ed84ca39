// SPDX-License-Identifier: Apache-2.0
// Probes of the outputs: the exp in the numerators, and the division. policy.cpp has the probes of the shift,
// and of whether numerators use the final maximum.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "accuracy/probes/probes.hpp"

namespace assay {
namespace {

using namespace probe;

/// Arguments whose exps, all together, vanish next to 1 in the format of the arithmetic. The divisor is then
/// exactly the number of zeros in the row.
struct Tiny {
  double lo, hi;
  int per_row;
};
Tiny tiny_range(Dtype arithmetic) {
  // f16: results are normal down to -9.7. One exp below e^-8.4 vanishes next to 1; two would not.
  if (arithmetic == Dtype::f16) return {-9.69, -8.4, 1};
  return {-80, -34, 40};
}

/// The number of places in the rows below, and the columns of the shortest row.
constexpr std::int64_t kShort = 64;
/// Row lengths at which a launcher may choose another kernel: between the powers of two, up to the longest
/// probe row.
constexpr std::int64_t kLonger[] = {193, 515, 1030, 2053, 4102, 8197, 16390, 32775, 65542, kProbeV};

/// The numerators, in any precision, that explain the outputs seen by one rounding each.
class OneNumerator {
 public:
  explicit OneNumerator(Dtype format) : format_(format) {}

  /// An output that is the numerator times `factor`, or divided by `divisor`. A divisor kept in a wider
  /// format may be larger by up to `more`, relatively: it includes the exps that vanish in the narrow one.
  void see(double output, double factor, double divisor, double more) {
    if (!(output >= 0) || std::isinf(output)) {
      hi_ = -1;
      return;
    }
    const std::uint64_t bits = encode(format_, output);
    const auto edge = [&](std::uint64_t other) {
      return (output + decode(format_, other)) / 2 / factor * divisor;
    };
    // A quotient in f32 may be rounded again to a narrow output; a quotient in double may be rounded again to
    // f32.
    const double twice = format_ == Dtype::f32 ? 0x1p-48 : 0x1p-23;
    if (bits > 0) lo_ = std::max(lo_, edge(bits - 1) * (1 - twice));
    hi_ = std::min(hi_, edge(bits + 1) * (1 + more + twice));
  }
  bool exists() const { return lo_ <= hi_; }

 private:
  Dtype format_;
  double lo_ = 0, hi_ = std::numeric_limits<double>::max();
};

/// Rows of n zeros and a few tiny exps, -inf elsewhere: the divisor is exactly n. With n = 1 the outputs are
/// the numerators themselves; with other n each output is one quotient of two known numbers.
void numerators_and_division(const Variant& v, const Terms& terms, std::int64_t V, Observation& exp,
                             Observation& division) {
  const Tiny tiny = tiny_range(terms.arithmetic);
  const bool whole = V == kShort;  // longer rows: only a few, to see whether they take another path
  const int sets = terms.arithmetic == Dtype::f16 ? (whole ? 160 : 4) : selects(v.op) || !whole ? 1 : 4;
  constexpr std::int64_t kFirst = 24;  // places before it are for zeros
  // Places are an odd number of columns apart, so that every lane of a vector gets some.
  const std::int64_t apart = V / kShort > 1 && V / kShort % 2 == 0 ? V / kShort - 1 : V / kShort;
  const std::vector<double> ts = slope_arguments(v.dtype, tiny.lo, tiny.hi, sets * tiny.per_row);
  std::vector<std::int64_t> divisors;
  for (std::int64_t n = 1; n <= kFirst; ++n)
    if (whole ? tiny.per_row > 1 || n % 2 || n == 6 || n == 10
              : n == 1 || n == 3 || n == 7 || n == 13 || n == 23)
      divisors.push_back(n);
  const auto groups = static_cast<std::int64_t>(ts.size()) / tiny.per_row;
  std::vector<Sparse> rows;
  for (std::int64_t g = 0; g < groups; ++g)
    for (std::int64_t n : divisors) {
      Sparse row;
      for (std::int64_t j = 0; j < n; ++j) row.emplace_back(j * apart, 0.0);
      for (int i = 0; i < tiny.per_row; ++i)
        row.emplace_back((kFirst + i) * apart, ts[static_cast<std::size_t>(g * tiny.per_row + i)]);
      rows.push_back(std::move(row));
    }
  if (terms.tau > 20) {
    exp.skipped = division.skipped = "rescales put off this far change the sum's scale";
    return;
  }
  const Output got = launch_on(v, sparse_rows(v.dtype, V, rows), static_cast<int>(kShort));
  if (!landed(exp, got) || !landed(division, got)) {
    division = exp;
    division.probe = "division";
    return;
  }

  const auto quotient = [&](double a, double b) {
    return terms.arithmetic == Dtype::f32 ? static_cast<double>(static_cast<float>(a) / static_cast<float>(b))
                                          : round_to(terms.arithmetic, a / b);
  };
  const auto product = [&](double a, double b) {
    return terms.arithmetic == Dtype::f32 ? static_cast<double>(static_cast<float>(a) * static_cast<float>(b))
                                          : round_to(terms.arithmetic, a * b);
  };
  const bool ieee = v.claim.division == Division::ieee, reciprocal = v.claim.division == Division::reciprocal;
  const bool kept = v.claim.normalise == Normalise::kept;
  // A divisor in a wider format than the arithmetic also includes the exps that vanish.
  const double beside = tiny.per_row * std::exp(tiny.hi);
  const double numerator_slack = ieee || reciprocal ? 0 : lam(terms.D);  // of the division by 1
  constexpr Exp kExps[] = {Exp::accurate, Exp::exp2_fma, Exp::fast};
  constexpr const char* kNames[] = {"exp accurate", "exp by a rounded product", "exp fast"};
  bool consistent[3] = {true, true, true};
  Terms exps[3];
  for (int c = 0; c < 3; ++c)
    exps[c] = terms.narrow ? terms : terms_of(with(v.claim, &Claim::exp, kExps[c]), v.backend, v.out(), V);
  double worst = 0, worst_t = 0, mean = 0, per_nat = 0;
  std::int64_t numerators = 0, quotients = 0, differ = 0, as_product = 0, known = 0, ragged = 0;
  double worst_quotient = 0;
  for (std::int64_t g = 0; g < groups; ++g)
    for (int i = 0; i < tiny.per_row; ++i) {
      const double t = ts[static_cast<std::size_t>(g * tiny.per_row + i)];
      const std::int64_t first_row = g * static_cast<std::int64_t>(divisors.size());
      const double e = got.at(first_row, (kFirst + i) * apart);
      if (std::isnan(e) && selects(v.op)) continue;  // not selected
      ++known;
      const Enclosure exact = exp_of(t);
      const double off = e > 0 ? std::log(e / exact.lo) : -std::numeric_limits<double>::infinity();
      ++numerators;
      mean += off / terms.u;
      per_nat = std::max(per_nat, std::fabs(off / terms.u / t));
      if (!(std::fabs(off) <= worst)) worst = std::fabs(off), worst_t = t;
      // A kept exp was rescaled at most twice, and its shift was computed in steps.
      const double rescales =
          kept ? 2 * (terms.exp_constant + lam(terms.u)) + std::fabs(t) * terms.kept_slope() : 0;
      const auto within = [&](const Terms& k) {
        return std::fabs(off) - 0x1p-48 <= exp_error_below_zero(k, t) + numerator_slack;
      };
      for (int c = 0; c < 3; ++c) consistent[c] = consistent[c] && within(exps[c]);
      ++exp.judged;
      const double most = exp_error_below_zero(terms, t) + numerator_slack + rescales;
      if (!(std::fabs(off) - 0x1p-48 <= most))
        exp.refute(fmt::format(
            "one 0 beside exps that vanish: the divisor is 1, so the output at {} is the "
            "numerator itself; it is {:a}, {:.4g} u from e^t, where the claimed exp{} is "
            "within {:.4g} u",
            t, e, std::fabs(off) / terms.u, kept ? ", rescaled at most twice," : "", most / terms.u));
      OneNumerator over(terms.arithmetic), times(terms.arithmetic);
      over.see(e, 1, 1, beside);
      times.see(e, 1, 1, beside);
      std::string first;  // output that contradicts a numerator of the arithmetic's own precision
      for (std::size_t k = 1; k < divisors.size(); ++k) {
        const auto n = static_cast<double>(divisors[k]);
        const double p = got.at(first_row + static_cast<std::int64_t>(k), (kFirst + i) * apart);
        if (std::isnan(p) && selects(v.op)) continue;  // not selected, because there are so many zeros
        const double right = quotient(e, n);
        ++quotients;
        const double error = std::fabs(p - e / n) / (e / n) / terms.u;
        if (!(error <= worst_quotient)) worst_quotient = error;
        const double by_reciprocal = product(e, quotient(1, n));
        as_product += p == by_reciprocal;
        if (p != right) ++differ;
        over.see(p, 1, n, beside / n);
        times.see(p, quotient(1, n), 1, beside / n);
        ++division.judged;
        // Two kept exps of the same logit may differ by the rescales of each.
        const bool holds = ieee && !kept         ? p == right
                           : reciprocal && !kept ? p == right || p == by_reciprocal
                                                 : std::fabs(std::log(p * n / e)) - 0x1p-48 <=
                                                       2 * lam(terms.D) + terms.eta / p + 2 * rescales;
        if (!holds && kept && first.empty())
          first = fmt::format(
              "{} zeros beside a numerator that is {:a} when it stands alone: the output is {:a}, "
              "further from the quotient than two rescales and the division can be",
              n, e, p);
        if (!holds && first.empty())
          first = fmt::format(
              "{} zeros beside a numerator that is {:a} when it stands alone: {} is {:a}, the output is {:a}",
              n, e,
              ieee         ? "the correctly rounded quotient"
              : reciprocal ? "the product with the rounded reciprocal"
                           : "the quotient",
              reciprocal ? by_reciprocal : right, p);
      }
      ragged += !over.exists();
      if (first.empty()) continue;
      // Intermediate values may be wider than the arithmetic. Then one numerator explains all its quotients,
      // although the output it is rounded to does not.
      if ((ieee || reciprocal) && !kept) {
        if (over.exists() || (reciprocal && times.exists())) continue;
        first += "; no one numerator, however wide, has all its outputs";
      }
      division.refute(first);
    }
  if (known == 0) {
    exp.skipped = division.skipped = "no numerator came back";
    return;
  }
  const auto count = static_cast<double>(numerators);
  exp.saw = fmt::format(
      "{} numerators over t in [{}, {}]: at most {:.3g} u off (t = {}), {:.2g} u per nat, "
      "mean {:+.2f} u",
      numerators, tiny.lo, tiny.hi, worst / terms.u, worst_t, per_nat, mean / count);
  if (terms.narrow)
    exp.trait = consistent[0] ? "exp half" : "exp worse than half";
  else
    exp.trait = consistent[0]   ? kNames[0]
                : consistent[1] ? kNames[1]
                : consistent[2] ? kNames[2]
                                : "exp worse than fast";
  exp.sharper = !terms.narrow && consistent[0] && v.claim.exp != Exp::accurate;
  const bool by_product = as_product == quotients;
  const bool correct = differ == 0 || (ragged == 0 && !by_product);
  division.saw = fmt::format(
      "{} quotients of known numbers: {} differ from the correctly rounded one, by at "
      "most {:.3g} u{}",
      quotients, differ, worst_quotient,
      differ > 0 && ragged == 0 ? "; numerators wider than the outputs explain them all" : "");
  division.trait = correct               ? "division ieee"
                   : by_product          ? "division reciprocal"
                   : worst_quotient <= 5 ? "division approximate"
                                         : "division worse than approximate";
  division.sharper = correct && !ieee;
}

/// The same for a longer row: only checks whether the claim holds there too.
void longer(const Variant& v, std::int64_t V, Observation& exp, Observation& division) {
  Observation of[2];
  numerators_and_division(v, terms_of(v.claim, v.backend, v.out(), V), V, of[0], of[1]);
  Observation* const to[] = {&exp, &division};
  for (int i = 0; i < 2; ++i) {
    if (of[i].ended != Ended::normally || !of[i].fault.empty()) {
      to[i]->fault = of[i].fault;
      to[i]->ended = of[i].ended;
      to[i]->fault_kind = of[i].fault_kind;
    }
    to[i]->judged += of[i].judged;
    if (of[i].refuted == 0) continue;
    if (to[i]->refuted == 0) {
      to[i]->proof = fmt::format("in rows of {}: {}", V, of[i].proof);
      to[i]->sharper = false;
      to[i]->trait += fmt::format(", but {} at V = {}", of[i].trait, V);
    }
    to[i]->refuted += of[i].refuted;
  }
}

}  // namespace

void probe_outputs(const Variant& v, std::vector<Observation>& out) {
  constexpr const char* kBeside = "epsilon in the divisor: no row divides by a number that is known exactly";
  const Terms terms = terms_of(v.claim, v.backend, v.out(), 64);
  Observation exp{.probe = "numerator_exp"}, division{.probe = "division"};
  if (terms.epsilon > 0) {
    exp.skipped = division.skipped = kBeside;
  } else if (terms.u_out != 0) {
    exp.skipped = division.skipped =
        fmt::format("a {} output hides {} numerators", name(v.out()), name(terms.arithmetic));
  } else {
    numerators_and_division(v, terms, kShort, exp, division);
    if (exp.skipped.empty() && exp.fault.empty())
      for (const std::int64_t V : kLonger) longer(v, V, exp, division);
  }
  out.push_back(std::move(exp));
  out.push_back(std::move(division));
  if (terms.epsilon > 0)
    out.push_back({.probe = "numerators", .skipped = kBeside});
  else if (terms.u_out == 0)
    out.push_back(probe_numerators(v, terms));
  else
    out.push_back(
        {.probe = "numerators",
         .skipped = fmt::format("a {} output hides {} numerators", name(v.out()), name(terms.arithmetic))});
  out.push_back(probe_shift(v, terms));
  out.push_back(probe_far_divisor(v));
}

}  // namespace assay

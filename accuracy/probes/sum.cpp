// SPDX-License-Identifier: Apache-2.0
// Probes of the sum, as seen through d: the format in which it is kept, its height, and whether the maximum
// is known before the first exp. sum_exp.cpp has the probe of the exp inside the sum.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "accuracy/probes/probes.hpp"

namespace assay {
namespace {

using namespace probe;

/// Whether every term of a sum over n logits counts; empty if the kernel's limits do not let that be seen. In
/// each row another block of logits is 0, and the exps of all others are far below 1. A block has so few ones
/// that every format adds them exactly in any order, and that an output shows one that is missing.
std::optional<bool> every_term_counts(const Variant& v, std::int64_t n) {
  constexpr std::int64_t kBlock = 63;
  const double low = v.limits.max_abs > 0 ? std::min(1000.0, v.limits.max_abs) : 1000;
  // All others together must be far below one term.
  if (static_cast<double>(n) * std::exp(-low) > 0x1p-10) return {};
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t end = std::min(n, begin + kBlock);
    Tensor logits(v.dtype, 1, n);
    for (std::int64_t j = 0; j < n; ++j) logits.set(0, j, begin <= j && j < end ? 0 : -low);
    const Output got = launch_on(v, logits, 1);
    if (!got.fault.empty() || !got.skipped.empty()) return {};
    if (!(std::fabs(got.sum(0) - static_cast<double>(end - begin)) < 0.5)) return false;
  }
  return true;
}

/// A sum of n ones: every partial sum is an integer, and exact in any order while it is at most 2^p.
Observation accumulator(const Variant& v, const Terms& terms) {
  Observation o{.probe = "accumulator"};
  constexpr std::int64_t kCounts[] = {2, 3, 255, 257, 259, 511, 2047, 2049, 2051, 4099, 65537, kProbeV};
  constexpr Dtype kFormats[] = {Dtype::f32, Dtype::f16, Dtype::bf16};
  bool consistent[3] = {true, true, true};
  std::string first_off;
  std::int64_t first_off_at = 0;
  double last = 0;
  bool stuck = false, shown_by_outputs = false;
  const std::int64_t exact_to = std::int64_t{1} << format(terms.arithmetic).precision;
  const auto narrower_than_claimed = [&](std::int64_t n, double output) -> std::string {
    for (const Dtype narrow : {Dtype::f16, Dtype::bf16})
      if (const std::int64_t most = std::int64_t{1} << format(narrow).precision;
          n == most + 1 && n <= exact_to && output == round_to(v.out(), 1 / static_cast<double>(most)))
        return name(narrow);
    return {};
  };
  for (std::int64_t n : kCounts) {
    Tensor ones(v.dtype, 1, n);  // zeros: the logits of the row, each with exp(0) = 1
    const Output got = launch_on(v, ones, 1);
    if (!landed(o, got)) return o;
    // 1 / output is the sum, except for the error of the division; if it is near an integer, it is that
    // integer.
    double d = got.sum(0);
    // Partial sums that include epsilon are no integers: each addition may round.
    const double rounded =
        terms.epsilon > 0 ? got.slack + terms_of(v.claim, v.backend, v.out(), n).h * lam(terms.u) : 0;
    if (got.slack > 0x1p-12) {
      // 16-bit outputs do not distinguish neighbouring sums, but each is 1 / n, rounded once more.
      if (!terms.unit_maximum() || selects(v.op) || v.op != Op::softmax) {
        o.skipped = "only the outputs show the sum, and too roughly";
        return o;
      }
      if (n > exact_to) continue;
      const double slack = 2 * lam(terms.D) + (terms.narrows ? 0 : 2 * lam(terms.u_out)) + rounded;
      const double quotient = 1 / (static_cast<double>(n) + terms.epsilon);
      const double lo = round_to(v.out(), quotient * (1 - slack)),
                   hi = round_to(v.out(), quotient * (1 + slack));
      const double p = got.at(0, n / 2);
      ++o.judged;
      if (!(p >= lo && p <= hi)) {
        if (first_off.empty()) {
          first_off = fmt::format("{:a} for {} equal logits", p, n);
          // The first odd number above 2^p is the first that a format of p bits does not hold.
          if (const std::string narrow = narrower_than_claimed(n, p);
              !narrow.empty() && every_term_counts(v, n).value_or(false))
            o.trait = "sum " + narrow, o.sum = parse_dtype(narrow),
            first_off = fmt::format("1 / {} for {} equal logits", n - 1, n);
        }
        o.refute(
            fmt::format("{} equal logits: every partial sum is an integer up to 2^{}, so an output is 1 / {} "
                        "rounded, from {:a} to {:a}; it is {:a}",
                        n, format(terms.arithmetic).precision, n, lo, hi, p));
      }
      shown_by_outputs = true;
      continue;
    }
    if (got.slack > 0 && std::fabs(d - std::round(d)) <= d * got.slack) d = std::round(d);
    if (std::fabs(d - static_cast<double>(n)) <= static_cast<double>(n) * rounded) d = static_cast<double>(n);
    for (int f = 0; f < 3; ++f) {
      const double precision = std::ldexp(1.0, format(kFormats[f]).precision);
      const bool holds = static_cast<double>(n) <= precision ? d == static_cast<double>(n)
                                                             : round_to(kFormats[f], d) == d || std::isinf(d);
      consistent[f] = consistent[f] && holds;
    }
    if (d != static_cast<double>(n) && first_off.empty())
      first_off = fmt::format("d = {} for {} equal logits", d, n), first_off_at = n;
    stuck = stuck || (d == last && std::isfinite(d));
    last = d;
    if (n > exact_to) continue;
    ++o.judged;
    if (d != static_cast<double>(n))
      o.refute(
          fmt::format("{} equal logits: every exp(0) is 1 and every partial sum an integer up to 2^{}, "
                      "which {} adds exactly in any order, so d must be {}; it is {}",
                      n, format(terms.arithmetic).precision, name(terms.arithmetic), n, d));
  }
  if (shown_by_outputs) {
    o.saw = first_off.empty() ? "every output is 1 / n, rounded, for every n of equal logits tried"
                              : "an output of " + first_off;
    return o;
  }
  if (first_off_at > 0 && first_off_at <= 4099 && (consistent[1] || consistent[2]) &&
      !every_term_counts(v, first_off_at).value_or(true))
    o.trait = "sum without some of its terms";
  for (int f = 0; f < 3 && o.trait.empty(); ++f)
    if (consistent[f]) {
      o.trait = fmt::format("sum {}", name(kFormats[f]));
      o.sum = kFormats[f];
      o.sharper = kFormats[f] == Dtype::f32 && terms.narrow;
    }
  if (o.trait.empty()) o.trait = "sum of no known format";
  o.saw = first_off.empty() ? fmt::format("d = n for every n of equal logits tried, up to {}", kCounts[11])
                            : first_off + (stuck ? fmt::format("; it stops at {}", last) : "");
  return o;
}

/// Bound of ln d, where d is the divisor (within its bound) minus epsilon, which is at most 0.01.
double sum_bound(const Terms& terms, const RowBounds& bounds) { return bounds.b * (1 + 2 * terms.epsilon); }

/// One 0 and V - 1 logits (V is the row length). Each of them adds little, but together they add more than
/// the claim's error. So a sum that leaves out what lies far below the maximum is seen. The row has logits on
/// both sides of ln u, because a path of many additions would lose those below it too.
void left_out(const Variant& v, Observation& o) {
  for (const std::int64_t V : {std::int64_t{4099}, std::int64_t{16385}, kProbeV}) {
    const Terms terms = terms_of(v.claim, v.backend, v.out(), V);
    std::vector<double> depths;
    std::vector<Sparse> rows;
    const double log_u = std::log(terms.u);
    // Terms far above half an ulp of 1 are kept by every addition, however long the path is.
    std::vector<double> wanted = {-10.5, -12, -14};
    if (terms.narrow) wanted.clear();
    for (const double below : kBelowHalfUlp) wanted.push_back(log_u - below);
    for (const double depth : wanted) {
      depths.push_back(round_to(v.dtype, depth));
      rows.emplace_back();
      for (std::int64_t j = 0; j < V; ++j) rows.back().emplace_back(j, j == V / 2 ? 0 : depths.back());
    }
    const Tensor logits = sparse_rows(v.dtype, V, rows);
    const Output got = launch_on(v, logits, 1);
    // The row is longer than the declared limit.
    if (!got.skipped.empty()) return;
    if (!landed(o, got)) return;
    for (std::size_t r = 0; r < depths.size(); ++r) {
      const auto row = static_cast<std::int64_t>(r);
      const RowTruth truth = truth_of(logits, row);
      const double most = sum_bound(terms, row_bounds(terms, truth, shift_of(truth, terms)));
      const double ln_d = std::log(got.sum(row));
      const double error =
          std::max(std::fabs(ln_d - std::log(truth.s.lo)), std::fabs(ln_d - std::log(truth.s.hi)));
      ++o.judged;
      if (!(error - got.slack - 0x1p-40 <= most))
        o.refute(fmt::format(
            "a 0 among {} logits at {}: d = {:.9g} where {:.9g} is exact, ln d off by {:.4g}, and a "
            "sum of height {} is off by at most {:.4g}: terms are left out, or lost on a longer path",
            V - 1, depths[r], got.sum(row), truth.s.lo, error, terms.h, most));
    }
  }
}

/// One 0 and V - 1 logits whose exp is just below half an ulp of 1. Each of them that is added to the partial
/// sum with the 0 is lost, so the error counts the additions on that path.
Observation height(const Variant& v) {
  Observation o{.probe = "height"};
  std::int64_t longest = 0;
  const std::int64_t V_last = 16385;
  for (std::int64_t V : {std::int64_t{1025}, V_last}) {
    Terms terms = terms_of(v.claim, v.backend, v.out(), V);
    // The largest value of the dtype below ln u.
    double t = round_to(v.dtype, std::log(terms.u));
    while (!(exp_of(t).hi * std::exp(terms.exp_constant) < terms.u)) t = -next_up(v.dtype, -t);
    std::vector<Sparse> rows(2);
    for (std::int64_t j = 0; j < V; ++j) {
      rows[0].emplace_back(j, j == 0 ? 0 : t);
      rows[1].emplace_back(j, j == V - 1 ? 0 : t);
    }
    const Tensor logits = sparse_rows(v.dtype, V, rows);
    const Output got = launch_on(v, logits, 1);
    if (!landed(o, got)) return o;
    if (got.slack > 0x1p-12) {
      o.skipped = "only the outputs show the sum, and too roughly";
      return o;
    }
    for (int r = 0; r < 2; ++r) {
      const RowTruth truth = truth_of(logits, r);
      const RoundedShift shift = shift_of(truth, terms);
      const RowBounds claimed = row_bounds(terms, truth, shift);
      Terms low = terms;
      low.h = low.merges = 1;
      const double one = row_bounds(low, truth, shift).b;
      const double error = std::max(std::fabs(std::log(got.sum(r)) - std::log(truth.s.lo)),
                                    std::fabs(std::log(got.sum(r)) - std::log(truth.s.hi)));
      const double chain = std::isfinite(error) ? 1 + (error - got.slack - 0x1p-40 - one) / lam(terms.u) : 0;
      const auto proved = static_cast<std::int64_t>(std::max(0.0, std::ceil(chain)));
      ++o.judged;
      if (!(error - got.slack - 0x1p-40 <= sum_bound(terms, claimed)))
        o.refute(fmt::format(
            "a 0 {} {} logits at {}, each below half an ulp of 1: d = {:.9g} where {:.9g} is "
            "exact, ln d off by {:.4g}; a sum of height {} is off by at most {:.4g}, so some "
            "path has at least {} additions",
            r ? "after" : "before", V - 1, t, got.sum(r), truth.s.lo, error, terms.h, claimed.b, proved));
      if (V == V_last && proved >= longest) {
        longest = proved;
        o.saw =
            fmt::format("a 0 {} {} logits at {}: d = {:.9g}, exact {:.9g}: a path of at least {} additions",
                        r ? "after" : "before", V - 1, t, got.sum(r), truth.s.lo, proved);
      }
    }
  }
  const double claimed = terms_of(v.claim, v.backend, v.out(), V_last).h;
  const bool serial = static_cast<double>(longest) > 0.8 * static_cast<double>(V_last - 1);
  o.trait = serial         ? "serial sum"
            : longest > 32 ? fmt::format("sum in chains of {} at V = {}", longest, V_last)
                           : "sum in a tree";
  o.saw += fmt::format("; height({}) = {}", V_last, claimed);
  o.sharper = 4.0 * static_cast<double>(longest) + 64 < claimed;
  left_out(v, o);
  return o;
}

/// The same slow ramp, ascending and descending. If the maximum is known, the order of terms hardly matters.
/// With a running maximum every step up rescales the sum, and the exp's bias and the product's rounding
/// accumulate.
Observation order(const Variant& v) {
  Observation o{.probe = "order"};
  constexpr std::int64_t V = 32768;
  constexpr double kRanges[] = {0.75, 1.5, 3, 6};
  Tensor logits(v.dtype, 8, V);
  for (std::int64_t j = 0; j < V; ++j)
    for (int r = 0; r < 4; ++r) {
      const double x = kRanges[r] * (static_cast<double>(j + 1) / static_cast<double>(V) - 1);
      logits.set(2 * r, j, x);
      logits.set(2 * r + 1, V - 1 - j, x);
    }
  const Output got = launch_on(v, logits, 1);
  if (!landed(o, got)) return o;
  const Terms terms = terms_of(v.claim, v.backend, v.out(), V);
  double up = 0, down = 0;
  for (int r = 0; r < 8; ++r) {
    const RowTruth truth = truth_of(logits, r);
    const RowBounds bounds = row_bounds(terms, truth, shift_of(truth, terms));
    const double error = std::fabs(std::log(got.sum(r)) - std::log(truth.s.lo));
    ++o.judged;
    if (!(error - got.slack - 0x1p-40 <= sum_bound(terms, bounds)))
      o.refute(
          fmt::format("a ramp of {} logits {} over {} nats: ln d is off by {:.4g}, and the claimed class "
                      "by at most {:.4g}",
                      V, r % 2 ? "down" : "up", kRanges[r / 2], error, bounds.b));
    (r % 2 ? down : up) = std::max(r % 2 ? down : up, error / terms.u);
  }
  // Ascending has the exp's bias and a product's rounding at every step; descending has the error of any sum.
  if (v.claim.shift == Shift::none)
    o.skipped = "no maximum to know";
  else if (got.slack > 0x1p-20)
    o.skipped = "only the outputs show the sum, and too roughly";
  else if (terms.tau > 0)
    o.skipped = "rescales put off hardly happen on a slow ramp";
  else if (up > 8 && up > 2 * down)
    o.trait = "online";
  else if (std::max(up, down) < 12) {  // a serial sum hides the difference
    o.trait = "safe";
    o.sharper = v.claim.algorithm == Algorithm::online;
  }
  o.saw = fmt::format("ln d of ramps of {} logits is off by up to {:.3g} u upwards, {:.3g} u downwards", V,
                      up, down);
  return o;
}

}  // namespace

void probe_sums(const Variant& v, std::vector<Observation>& out) {
  const Terms terms = terms_of(v.claim, v.backend, v.out(), 2);
  out.push_back(accumulator(v, terms));
  out.push_back(probe_sum_exp(v, terms));
  out.push_back(height(v));
  out.push_back(order(v));
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The bounds computed a second time, from BOUNDS.md and its companions alone: in long double, with quadratic
// loops, and without a line or constant of bounds.cpp. The results of bounds.cpp must lie between these
// values and slightly above them, for every class, on rows made so that each term matters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/bounds/divisor.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {
namespace {

using Real = long double;

struct Expected {
  Real largest = 0;  // largest error of a stored numerator; a mean of few may be far below it
  Real anchor = 0, eta_s = 0, b = 0, w = 0, row_sum = 0, range_top = 1, log_sum = 0, lse = 0;
  std::vector<Real> A, log_softmax;
  bool usable = true;  // false: beyond the pole of lam, nothing to compare
};

Real lam_(Real t) { return -std::log1p(-t); }

/// All values of one row, by the formulas of the documents. `lse` is the exact one.
Expected expected(const Claim& c, Backend backend, Dtype out, const std::vector<double>& x, Real h) {
  Expected e;
  const std::size_t n = x.size();
  const Real u = c.internals == Internals::f32   ? 0x1p-24L
                 : c.internals == Internals::f16 ? 0x1p-11L
                                                 : 0x1p-8L;
  const Real tiny = c.internals == Internals::f32   ? 0x1p-149L
                    : c.internals == Internals::f16 ? 0x1p-24L
                                                    : 0x1p-133L;
  const bool same = (c.internals == Internals::f32 && out == Dtype::f32) ||
                    (c.internals == Internals::f16 && out == Dtype::f16) ||
                    (c.internals == Internals::bf16 && out == Dtype::bf16);
  const Real u_out = same ? 0 : out == Dtype::f32 ? 0x1p-24L : out == Dtype::f16 ? 0x1p-11L : 0x1p-8L;
  const Real tiny_out = out == Dtype::f32 ? 0x1p-149L : out == Dtype::f16 ? 0x1p-24L : 0x1p-133L;

  // Section 1: the functions.
  const bool cuda = backend == Backend::cuda;
  Real relative = 0, slope = 0;  // of the exp, in u
  if (c.exp == Exp::accurate || c.exp == Exp::exp2_fma) relative = cuda ? 5 : 1.02L;
  if (c.exp == Exp::fast) relative = 5, slope = 2.346L / (1 - (5 + 110 * 2.346L) * u);
  if (c.exp == Exp::half) relative = 1;
  const Real eps0 = lam_(relative * u);
  const auto eps = [&](Real t) { return t == 0 ? 0 : eps0 + slope * u * std::fabs(t); };
  const Real eta = relative * tiny / 2;
  const Real E_log = (cuda ? 3 : 1.35L) * u;
  const Real D = c.division == Division::ieee          ? u
                 : c.division == Division::approximate ? 5 * u
                                                       : 2 * u + u * u;
  const bool blunt = c.division == Division::approximate;
  const Real w_out = (blunt && same ? 2.5L : 0.5L) * tiny_out;

  // Section 2: exact quantities and the rounded shift.
  Real m = -INFINITY, lowest = INFINITY;
  for (double v : x)
    if (std::isfinite(v)) m = std::max<Real>(m, v), lowest = std::min<Real>(lowest, v);
  const bool naive = c.shift == Shift::none, exp2 = c.exp == Exp::exp2_fma;
  Real s = 0;
  for (double v : x) s += std::exp(static_cast<Real>(v) - m);
  const auto argument = [&](double v) -> Real {
    const auto a = static_cast<float>(v), top = static_cast<float>(m);
    if (naive) return v;
    if (exp2) return 0.693147180559945309417232121458L * std::fma(a, 0x1.715476p+0f, -(top * 0x1.715476p+0f));
    if (c.internals == Internals::f32) return a - top;
    return round_to(c.internals == Internals::f16 ? Dtype::f16 : Dtype::bf16, v - static_cast<double>(m));
  };
  e.anchor = argument(static_cast<double>(m));
  // Section 5a: epsilon is one more term.
  const bool more = c.epsilon > 0;
  const Real epsilon = c.epsilon * std::exp(-e.anchor);
  s += epsilon;
  const Real share = epsilon / s;
  const Real lse = m + std::log(s);
  // Stored numerators: every number that the exp may give, rounded.
  const bool stored =
      c.numerators == Numerators::output && out != Dtype::f32 && c.internals == Internals::f32;
  const auto in_output = [&](Real y) -> Real { return round_to(out, std::max(0.0, static_cast<double>(y))); };
  Real all_stored = 0, most_stored = 0;

  const bool rescaled = c.algorithm == Algorithm::online || c.normalise == Normalise::kept;
  const Real tau = c.algorithm == Algorithm::online ? c.rescale_threshold : 0;
  // A path has at most as many additions as the row has other terms.
  Real finite = 0;
  for (double v : x) finite += std::isfinite(v);
  const Real additions = std::min(h + more, std::max<Real>(0, finite - 1) + more);
  h += more;
  Real sum_beta = 0, sum_own = 0, most_exps = 0, top = -INFINITY;
  std::vector<Real> own(n), sigma(n), before_additions(n), stored_error(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Real d = x[i] - m, f = argument(x[i]), p = std::exp(d) / s;
    const bool gone = std::isinf(f);
    sigma[i] = naive || gone ? 0 : std::fabs(f - e.anchor - d);
    own[i] = gone ? 0 : sigma[i] + eps(f);
    if (stored && !gone) {
      const Real exact = std::exp(f);
      const Real hi = in_output(exact * std::exp(eps(f)) + eta),
                 lo = in_output(exact * std::exp(-eps(f)) - eta);
      if (lo >= (out == Dtype::f16 ? 0x1p-14L : 0x1p-126L)) {
        own[i] = sigma[i] + std::max({eps(f), std::log(hi / exact), std::log(exact / lo)});
      } else {
        stored_error[i] = std::max(hi - exact, exact - lo);
        all_stored += stored_error[i];
        most_stored = std::max(most_stored, stored_error[i]);
      }
    }
    Real beta = own[i];
    if (rescaled && !gone) {
      // THEOREM_ONLINE.md: the number of exps and products, and the length.
      std::set<double> above;
      Real reach = 0;
      if (tau > 0) reach = std::min(tau * (1 + u), x[i] - lowest);
      for (double v : x)
        if (v > x[i] - reach) above.insert(v);
      if (reach > 0) {
        above.clear();
        for (double v : x)
          if (v > x[i] - tau * (1 + u)) above.insert(v);
      }
      const auto larger = static_cast<Real>(above.size());
      const Real late = tau > 0 ? 1 : 0;
      const Real exps = std::min(h + 1 + late, larger + (reach > 0 ? 1 : 0));
      const Real products = std::min(h + late, larger);
      const Real length = std::fabs(d) + 2 * reach;
      const Real per_nat = exp2 ? 2.2241L + 0x1p-12L : 1;
      const Real shift = exps <= 1 && !exp2 ? sigma[i] : per_nat * u * length;
      beta = exps * eps0 + products * lam_(u) + shift + slope * u * (1 + u) * length;
      if (c.normalise == Normalise::kept)
        own[i] += std::fabs(d) * u + std::min<Real>(2, products) * (eps0 + lam_(u));
      if (p > 0x1p-1074L) most_exps = std::max(most_exps, exps);
    }
    if (stored) beta = std::max(beta, own[i]), e.largest = std::max(e.largest, own[i]);
    before_additions[i] = beta;
    beta += additions * lam_(u);
    sum_beta += p * std::expm1(beta);
    sum_own += p * std::expm1(own[i]);
    top = std::max(top, d + own[i]);
  }
  sum_beta += share * std::expm1(lam_(u) + additions * lam_(u));
  const Real last = exp2 && rescaled ? eps(e.anchor) + lam_(u) : 0;
  const Real b1 = std::log1p(sum_beta) + last;
  const Real scale = naive ? std::exp(lse) : s * std::exp(std::min<Real>(0, e.anchor));
  e.eta_s = eta / scale;
  const Real besides = (all_stored + (more ? tiny / 2 : 0)) / scale;
  const Real times = (1 + std::min<Real>(2, most_exps)) * std::exp(tau);
  const Real absolute = (finite * times * e.eta_s + besides) * std::exp(2 * b1);
  e.usable = absolute < 0.9L;
  e.b = b1 + lam_(absolute);
  if (additions > 64 && tau == 0) {
    // Head and tail (THEOREM_ONLINE.md section 6); terms by descending logit. The lemmas are
    // HeadTail.head_above and head_below for terms a_i with |a_i| <= e^{w_i + own_i} + eta, and for an online
    // sum online_head_above and online_head_below.
    std::vector<std::size_t> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] > x[b]; });
    const auto p = [&](std::size_t k) { return std::exp(static_cast<Real>(x[order[k]]) - m) / s; };
    const auto grown = [&](std::size_t k) { return p(k) * std::exp(before_additions[order[k]]); };
    const auto error = [&](std::size_t k) {
      return (e.eta_s + stored_error[order[k]] / scale) * std::exp(2 * last);
    };
    const Real twice = 2 * std::exp(additions * lam_(u));
    Real least = INFINITY;
    for (std::size_t wanted = 1; wanted < static_cast<std::size_t>(finite) + more; wanted *= 2) {
      std::size_t r = wanted;
      while (rescaled && r < static_cast<std::size_t>(finite) && x[order[r]] == x[order[r - 1]]) ++r;
      if (r == static_cast<std::size_t>(finite) + more) continue;
      Real heads = 0, of_heads = 0, tails = share * std::exp(lam_(u));
      Real head_errors = 0, tail_errors = more ? tiny / 2 / scale * std::exp(2 * last) : 0;
      for (std::size_t k = 0; k < static_cast<std::size_t>(finite); ++k)
        if (k < r)
          heads += p(k), of_heads += grown(k), head_errors += error(k);
        else
          tails += grown(k), tail_errors += error(k);
      const Real among = std::min<Real>(static_cast<Real>(r - 1), additions) * lam_(u), q = 1 - heads;
      const Real more_above =
          rescaled ? 2 * twice * (head_errors + tail_errors) : head_errors + twice * tail_errors;
      const Real above = std::log(of_heads + twice * tails + more_above) + among;
      const Real head_alone = std::log(of_heads / heads) + among;
      const Real lost = times * head_errors / heads * std::exp(2 * head_alone);
      const Real below = lost < 1 ? head_alone + lam_(lost) + lam_(q) : INFINITY;
      least = std::min(least, std::max(above, below));
    }
    if (2 * additions > finite) {
      // The depth of the k-th deepest term.
      Real deep = share * std::expm1((additions + 1) * lam_(u));
      std::vector<Real> weights;
      for (std::size_t k = 0; k < static_cast<std::size_t>(finite); ++k) {
        weights.push_back(grown(k));
        deep -= p(k);
      }
      std::sort(weights.rbegin(), weights.rend());
      for (std::size_t k = 0; k < weights.size(); ++k) {
        const auto rank = static_cast<Real>(k + 1);
        deep += weights[k] *
                std::exp(std::min(additions, finite + more - rank + std::floor(std::log2(rank))) * lam_(u));
      }
      least = std::min(least, std::log1p(deep) + lam_(absolute));
    }
    e.b = std::min(e.b, std::max(least, std::log1p(sum_own) + 64 * lam_(u)) + last);
  }
  const bool unit = c.shift == Shift::subtract && !exp2 && tau == 0;
  // Ones add up exactly.
  if (unit && !more && finite * u <= 1 &&
      std::ranges::all_of(x, [&](double v) { return v == m || std::isinf(v); }))
    e.b = 0x1p-40L;
  const Real common = lam_(D) + lam_(u_out) + e.b;
  e.w = (c.normalise == Normalise::kept ? 4 : 1) * e.eta_s * std::exp(common) + w_out;
  e.w += most_stored / scale * std::exp(common);
  const Real of_exps = std::log1p(sum_own / (1 - share));
  const Real beside = of_exps + lam_(absolute) + lam_(u) + (more ? lam_(tiny / 2 / c.epsilon) : 0);
  const Real apart = rescaled || stored
                         ? e.b + of_exps
                         : std::min(additions * lam_(u) + share * beside * std::exp(beside), e.b + of_exps);
  e.row_sum = std::expm1(apart + lam_(D) + lam_(u_out)) + finite * e.w;
  e.range_top = unit || (!rescaled && !stored) ? (blunt ? 1 + D : 1) : std::exp(top + common);

  const Real log_s = naive ? std::fabs(lse) : std::log(s);
  const Real anchor = naive ? 0 : std::fabs(e.anchor);
  e.log_sum = e.b + E_log * (log_s + e.b + anchor) + anchor;
  e.lse = naive ? e.log_sum : e.log_sum + u * (std::fabs(lse) + e.log_sum);
  for (std::size_t i = 0; i < n; ++i) {
    e.A.push_back(own[i] + common);
    const Real before = naive || c.log_form == LogForm::absorb ? e.lse : e.log_sum + sigma[i];
    e.log_softmax.push_back(before + u * (std::fabs(x[i] - lse) + before));
  }
  return e;
}

/// Not below `want`, and above it by at most what bounds.cpp rounds up: 2^-24 twice, and its quadratic form
/// of e^b - 1.
void expect_close(double got, Real want, Real b, const std::string& what) {
  EXPECT_GE(got, want * (1 - 0x1p-48L)) << what;
  EXPECT_LE(got, want * (1 + 0x1p-20L + std::min(0.5L * b, 0.06L))) << what;
}

struct Named {
  const char* name;
  Claim claim;
};

std::vector<Named> classes() {
  const Claim plain{.height = [](std::int64_t V) { return V / 32 + 8; }};
  std::vector<Named> all;
  const auto add = [&](const char* name, auto change) {
    Claim c = plain;
    change(c);
    all.push_back({name, c});
  };
  add("Safe", [](Claim&) {});
  add("Naive", [](Claim& c) { c.algorithm = Algorithm::naive, c.shift = Shift::none; });
  add("NaiveFast", [](Claim& c) {
    c.algorithm = Algorithm::naive, c.shift = Shift::none, c.exp = Exp::fast,
    c.division = Division::approximate;
  });
  add("Online", [](Claim& c) { c.algorithm = Algorithm::online; });
  add("OnlineFast", [](Claim& c) {
    c.algorithm = Algorithm::online, c.exp = Exp::fast, c.division = Division::approximate;
  });
  add("SafeExp2", [](Claim& c) { c.exp = Exp::exp2_fma; });
  add("OnlineExp2", [](Claim& c) { c.algorithm = Algorithm::online, c.exp = Exp::exp2_fma; });
  add("Reciprocal", [](Claim& c) { c.division = Division::reciprocal; });
  add("Lazy", [](Claim& c) { c.algorithm = Algorithm::online, c.rescale_threshold = 5.545; });
  add("LazyFast",
      [](Claim& c) { c.algorithm = Algorithm::online, c.rescale_threshold = 2, c.exp = Exp::fast; });
  add("Kept", [](Claim& c) { c.algorithm = Algorithm::online, c.normalise = Normalise::kept; });
  add("Absorb", [](Claim& c) { c.algorithm = Algorithm::online, c.log_form = LogForm::absorb; });
  add("SafeEpsilon", [](Claim& c) { c.epsilon = 1e-6; });
  add("SafeEpsilonSerial", [](Claim& c) { c.epsilon = 0.01, c.height = [](std::int64_t V) { return V; }; });
  add("NaiveEpsilon",
      [](Claim& c) { c.algorithm = Algorithm::naive, c.shift = Shift::none, c.epsilon = 1e-4; });
  add("OnlineEpsilon", [](Claim& c) { c.algorithm = Algorithm::online, c.epsilon = 1e-3; });
  add("SafeExp2Epsilon", [](Claim& c) { c.exp = Exp::exp2_fma, c.epsilon = 1e-2; });
  add("Stored", [](Claim& c) { c.numerators = Numerators::output; });
  add("StoredOnlineFast", [](Claim& c) {
    c.algorithm = Algorithm::online, c.exp = Exp::fast, c.numerators = Numerators::output;
  });
  add("StoredEpsilon", [](Claim& c) { c.numerators = Numerators::output, c.epsilon = 1e-5; });
  add("Half", [](Claim& c) { c.exp = Exp::half, c.internals = Internals::f16; });
  add("HalfSerial", [](Claim& c) {
    c.exp = Exp::half, c.internals = Internals::f16, c.height = [](std::int64_t V) { return V; };
  });
  add("Bfloat", [](Claim& c) { c.exp = Exp::half, c.internals = Internals::bf16; });
  return all;
}

/// Rows made by hand in which one term dominates: no spread at all; two distinct values; steps smaller than a
/// threshold; a far term that is subnormal; a maximum far from zero; a masked row.
Tensor by_hand(Dtype dtype) {
  constexpr std::int64_t V = 96;
  Tensor rows(dtype, 7, V);
  for (std::int64_t i = 0; i < V; ++i) {
    const auto k = static_cast<double>(i);
    rows.set(0, i, 3);
    rows.set(1, i, i % 2 ? 0.1 : -1.3);
    rows.set(2, i, 0.07 * k);
    rows.set(3, i, i == 0 ? 0 : -9.75 - 0.05 * k);
    rows.set(4, i, 1000 + 1.7 * std::sin(k));
    rows.set(5, i, i % 3 ? -INFINITY : -0.5 * k);
    rows.set(6, i, -k);
  }
  return rows;
}

/// One logit above many others whose exps are subnormal in f16: absolute errors, and a bound beyond 1 if
/// summed serially.
Tensor one_high(Dtype dtype) {
  constexpr std::int64_t V = 3000;
  Tensor row(dtype, 1, V);
  for (std::int64_t i = 0; i < V; ++i) row.set(0, i, i == 0 ? 0 : -9.75);
  return row;
}

void compare(const Named& c, Backend backend, const Tensor& logits) {
  const auto truths = truth(logits);
  const Terms t = terms_of(c.claim, backend, logits.dtype, logits.V);
  const auto h = static_cast<Real>(c.claim.height(logits.V));
  for (std::size_t r = 0; r < truths.size(); ++r) {
    if (truths[r].kind != RowKind::finite && truths[r].kind != RowKind::masked) continue;
    const RowTruth row = t.epsilon > 0 ? with_epsilon(truths[r], t, shift_of(truths[r], t)) : truths[r];
    const std::string where = std::string(c.name) + ", " + name(backend) + ", " + name(logits.dtype) +
                              ", V " + std::to_string(logits.V) + ", row " + std::to_string(r);
    const RoundedShift shift = shift_of(row, t);
    const RowBounds got = row_bounds(t, row, shift);
    if (!outside_domain(c.claim, row, got.b).empty()) continue;
    const Expected want = expected(c.claim, backend, logits.dtype, row.x, h);
    if (!want.usable) continue;
    const Real most = std::max(want.b, want.largest);
    EXPECT_NEAR(got.anchor, static_cast<double>(want.anchor),
                1e-15 * (1 + std::fabs(static_cast<double>(want.anchor))))
        << where;
    EXPECT_NEAR(got.eta_s / static_cast<double>(want.eta_s), 1, 1e-13) << where;
    expect_close(got.b, want.b, most, where + ": b");
    expect_close(got.w, want.w, most, where + ": w");
    expect_close(got.row_sum, want.row_sum, std::max(want.row_sum, most), where + ": row sum");
    expect_close(got.range_top, want.range_top, most, where + ": range");
    const LogBounds logs = log_bounds(t, row, got);
    expect_close(logs.log_sum, want.log_sum, most, where + ": log sum");
    expect_close(logs.lse, want.lse, most, where + ": lse");
    for (std::size_t j = 0; j < row.x.size(); ++j) {
      if (std::isinf(row.d[j])) continue;
      expect_close(got.A[j], want.A[j], most, where + ": A of " + std::to_string(j));
      const double y = row.d[j] - std::log(row.s.lo);
      const double sigma = t.shifted ? std::fabs(shift.delta[j]) : 0;
      expect_close(logs.element(t, y, sigma), want.log_softmax[j], most,
                   where + ": log-softmax of " + std::to_string(j));
      if (testing::Test::HasFailure()) return;  // one row is enough
    }
  }
}

class BoundFormula : public testing::TestWithParam<std::size_t> {};

TEST_P(BoundFormula, IsTheDocumentsOne) {
  const Named c = classes()[GetParam()];
  const bool narrow = c.claim.internals != Internals::f32;
  for (Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    if (narrow && dtype != (c.claim.internals == Internals::f16 ? Dtype::f16 : Dtype::bf16)) continue;
    for (Backend backend : {Backend::host, Backend::cuda}) {
      compare(c, backend, by_hand(dtype));
      if (narrow) compare(c, backend, one_high(dtype));
      for (const char* family :
           {"normal_1", "normal_10", "uniform_80", "ramp_1ulp", "lane_maxima", "long_tail", "shifted_1000",
            "mixed_magnitudes", "subnormal_out", "far_below"})
        compare(c, backend, make_input(*find_family(family), dtype, 129, 2, 7));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Classes, BoundFormula, testing::Range<std::size_t>(0, classes().size()),
                         [](const testing::TestParamInfo<std::size_t>& i) {
                           return std::string(classes()[i.param].name);
                         });

}  // namespace
}  // namespace assay

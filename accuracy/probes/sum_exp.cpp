// SPDX-License-Identifier: Apache-2.0
// The probe of the exp inside the sum: rows of two logits, where d is 1 + e^t, rounded once.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "accuracy/probes/probes.hpp"

namespace assay {

using namespace probe;

namespace {

struct ExpClass {
  const char* name;
  Exp exp;
};

constexpr ExpClass kExps[] = {
    {"accurate", Exp::accurate}, {"by a rounded product", Exp::exp2_fma}, {"fast", Exp::fast}};

/// A kernel that writes no sum shows it through its largest output, fl(1 / d): the numerator of the maximum
/// is 1.
bool shows_quotient(const Variant& v, const Terms& terms) {
  return (v.op == Op::softmax || v.op == Op::softmax_topk) && terms.arithmetic == Dtype::f32 &&
         !terms.narrow && v.out() == Dtype::f32 && terms.unit_maximum() && !terms.any_shift &&
         terms.epsilon == 0;
}

/// The error of the division in addition to that one rounding, in the log: 0 if it is correctly rounded.
double beside_rounding(const Variant& v, const Terms& terms) {
  return v.claim.division == Division::approximate ? lam(terms.D) : 0;
}

}  // namespace

Observation probe_sum_exp(const Variant& v, const Terms& terms) {
  Observation o{.probe = "sum_exp"};
  const Dtype arithmetic = terms.arithmetic;
  const Terms sharp =
      terms.narrow ? terms : terms_of(with(v.claim, &Claim::exp, Exp::accurate), v.backend, v.out(), 2);
  const double reach = arithmetic == Dtype::bf16 ? -5 : arithmetic == Dtype::f16 ? -7 : -9;
  // Only a run shows whether the kernel writes a sum.
  const Output trial = launch_on(v, sparse_rows(v.dtype, 2, {{{0, 0.0}, {1, -1.0}}}), 1);
  if (!landed(o, trial)) return o;
  const bool quotient = trial.slack > 0;
  if (terms.stored || (quotient && !shows_quotient(v, terms))) {
    o.skipped = terms.epsilon > 0 ? "epsilon stands beside the sum"
                : terms.stored    ? "the sum may be of stored numerators"
                                  : "the kernel writes no sum";
    return o;
  }
  std::vector<Pair> pairs;
  const double divided = quotient ? beside_rounding(v, terms) : 0;
  // With an approximate division no single row separates two exps; an exp that is far off still shows.
  if (!terms.narrow && divided == 0)
    pairs = separating_pairs(v.dtype, sharp, terms.shifted && !terms.exp2,
                             v.backend == Backend::cuda ? 2048 : 48, quotient ? Shows::quotient : Shows::sum);
  // If the sum refers to the lower logit, it includes the exp of the higher one, above 1, and is rescaled
  // later.
  const auto put_off = [&](const Pair& p) { return -p.t() <= terms.tau * (1 + 0x1p-10); };
  std::erase_if(pairs, put_off);
  const std::size_t separating = pairs.size();
  for (double t : slope_arguments(v.dtype, reach, -0.25, 24)) pairs.push_back({0, t});
  std::erase_if(pairs, put_off);
  if (pairs.empty()) {
    o.skipped = "rescales put off this far change the sum's scale";
    return o;
  }

  // The two logits as neighbours, in both orders; then `apart` columns apart with -inf elsewhere, so that
  // they meet in one thread's slice, in one warp's lanes, or in two warps.
  constexpr std::int64_t kFar = 1025;
  std::vector<Sparse> near, far;
  std::vector<Pair> of_near, of_far;
  std::size_t in_longer = 0;  // rows longer than those
  for (const Pair& p : pairs)
    for (int order = 0; order < 2; ++order) {
      near.push_back({{order, p.high}, {1 - order, p.low}});
      of_near.push_back(p);
    }
  const std::size_t per_distance = std::min<std::size_t>(pairs.size(), v.backend == Backend::cuda ? 256 : 6);
  for (std::int64_t apart : {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024})
    for (std::size_t i = 0; i < per_distance; ++i)
      for (int order = 0; order < 2; ++order) {
        far.push_back({{order ? apart : 0, pairs[i].high}, {order ? 0 : apart, pairs[i].low}});
        of_far.push_back(pairs[i]);
      }

  bool consistent[3] = {true, true, true};
  double worst = 0;  // proved distance of the exp from e^t, in u
  std::string worst_at;
  Terms alternatives[3];
  for (int i = 0; i < 3; ++i)
    alternatives[i] =
        terms.narrow ? terms : terms_of(with(v.claim, &Claim::exp, kExps[i].exp), v.backend, v.out(), 2);
  const auto judge = [&](const Output& got, const std::vector<Pair>& of, const char* where) {
    for (std::size_t r = 0; r < of.size(); ++r) {
      const double t = of[r].t();
      const auto row = static_cast<std::int64_t>(r);
      const double d = got.sum(row);
      // 1 / d in double is within an f32 ulp of the original d, and no other f32 number is.
      const double shown = quotient ? static_cast<double>(static_cast<float>(1 / d)) : d;
      const auto allowed = [&](const Terms& k) {
        const Enclosure a = quotient ? one_over_one_plus_exp(k, t) : one_plus_exp(k, t);
        return shown >= a.lo * std::exp(-divided) && shown <= a.hi * std::exp(divided);
      };
      for (int i = 0; i < 3; ++i) consistent[i] = consistent[i] && allowed(alternatives[i]);
      // Each rounding moves d by at most u, because d is in [1, 2]. A rounding of 1/d by u/2 moves it by 2 u
      // more.
      const double moved = (quotient ? 3 : 1) * terms.u + 2 * divided;
      const Enclosure e = exp_of(t);
      const double off = std::max(d - 1 - moved - e.hi, e.lo - (d - 1 + moved)) / e.hi / terms.u;
      if (off > worst) {
        worst = off;
        worst_at = fmt::format("({}, {}): d = {:a}", of[r].high, of[r].low, d);
      }
      ++o.judged;
      if (allowed(terms)) continue;
      const Enclosure a = quotient ? one_over_one_plus_exp(terms, t) : one_plus_exp(terms, t);
      const double claimed = exp_error_below_zero(terms, t) / terms.u;
      if (quotient)
        o.refute(fmt::format(
            "the row ({}, {}){}: the larger output is 1 / (1 + e^{}) with one rounding of the sum and one "
            "of the quotient, and with the claimed exp, within {:.4g} u of it, it lies in [{:a}, {:a}]; it "
            "is {:a}",
            of[r].high, of[r].low, where, t, claimed, a.lo, a.hi, shown));
      else
        o.refute(fmt::format(
            "the row ({}, {}){}: d is one rounding of 1 + e^{}, and with the claimed exp, within {:.4g} u of "
            "it, it lies in [{:a}, {:a}]; it is {:a}, an exp at least {:.3g} u off",
            of[r].high, of[r].low, where, t, claimed, a.lo, a.hi, d, std::max(0.0, off)));
    }
  };
  const Output a = launch_on(v, sparse_rows(v.dtype, 2, near), 1);
  const Output b = launch_on(v, sparse_rows(v.dtype, kFar, far), 1);
  if (!landed(o, a) || !landed(o, b)) return o;
  judge(a, of_near, "");
  judge(b, of_far, " with -inf between");
  // Longer rows may take another path.
  std::vector<Pair> of_long(
      of_far.begin(),
      of_far.begin() + 2 * std::min<std::ptrdiff_t>(v.backend == Backend::cuda ? 8 : 2, std::ssize(pairs)));
  for (const std::int64_t V : {2053, 4102, 8197, 16390, 32775, 65542}) {
    std::vector<Sparse> rows;
    for (std::size_t i = 0; i < of_long.size(); ++i)
      rows.push_back({{i % 2 ? V - 1 : 0, of_long[i].high}, {i % 2 ? 0 : V - 1, of_long[i].low}});
    const Output got = launch_on(v, sparse_rows(v.dtype, V, rows), 1);
    if (!got.skipped.empty()) break;  // longer than the declared limit
    if (!landed(o, got)) return o;
    judge(got, of_long, fmt::format(" {} columns apart, with -inf between", V - 1).c_str());
    in_longer += of_long.size();
  }
  const std::size_t rows = of_near.size() + of_far.size() + in_longer;
  o.saw = fmt::format("{} rows of two logits, {} of them where __expf would round d elsewhere: ", rows,
                      separating);
  o.saw += worst > 0  ? fmt::format("the exp in the sum is at least {:.3g} u off at {}", worst, worst_at)
           : quotient ? "1/d never leaves the roundings of 1 + e^t and of the quotient"
                      : "d never leaves the one rounding of 1 + e^t";
  if (terms.narrow) {
    o.trait = consistent[0] ? "exp in the sum half" : "exp in the sum worse than half";
    return o;
  }
  const auto* first = std::find(std::begin(consistent), std::end(consistent), true);
  if (first == std::end(consistent))
    o.trait = "exp in the sum worse than fast";
  else if (first != std::begin(consistent) || separating >= 8)
    o.trait = std::string("exp in the sum ") + kExps[first - std::begin(consistent)].name;
  else
    o.saw += "; too few such arguments to tell the exps apart";
  o.sharper = consistent[0] && !o.trait.empty() && v.claim.exp != Exp::accurate;
  return o;
}

}  // namespace assay

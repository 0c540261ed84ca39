// SPDX-License-Identifier: Apache-2.0
// A row and its claim as a `case` of accuracy/proof/RowFormula.v: every number an exact multiple of a power
// of 2.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/bounds/divisor.hpp"

namespace assay {
namespace {

/// x = odd 2^exponent; 0 is 0 2^0.
struct Dyadic {
  std::int64_t odd = 0;
  int exponent = 0;
};
Dyadic dyadic(double x) {
  if (x == 0) return {};
  int exponent = 0;
  auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(x, &exponent), 53));
  const int zeros = std::countr_zero(static_cast<std::uint64_t>(digits));
  return {digits >> zeros, exponent - 53 + zeros};
}

/// digits 2^shift. Shifts reach hundreds of bits, so the last ones are written as zeros.
std::string shifted(std::int64_t digits, int shift) {
  const auto magnitude = static_cast<std::uint64_t>(digits < 0 ? -digits : digits) << (shift % 4);
  const std::string text =
      fmt::format("0x{:x}{}", magnitude, std::string(static_cast<std::size_t>(shift / 4), '0'));
  return digits < 0 ? "(-" + text + ")" : text;
}

template <class Range, class Text>
std::string joined(const Range& range, const Text& text) {
  std::string all;
  for (const auto& one : range) all += (all.empty() ? "" : "; ") + text(one);
  return all;
}

/// The log-error of term i before the additions, to sort by: any order is sound.
double before_additions(const Terms& t, const RowTruth& row, const RoundedShift& shift, std::size_t i,
                        double h) {
  const double sigma = t.shifted ? std::fabs(shift.delta[i]) : 0;
  if (t.stored) return sigma + stored_numerator(t, shift.f[i], 0).relative;
  if (!t.online) return sigma + t.eps(shift.f[i]);
  const double above = row.larger[i], exps = std::min(h + 1, above), d = std::fabs(row.d[i]);
  return (exps <= 1 ? sigma : t.u * d) + t.exp_slope * d + exps * t.exp_constant + std::min(h, above) * t.u;
}

}  // namespace

std::string coq_dyadic(double x) {
  const Dyadic d = dyadic(x);
  return fmt::format("({}, {})%Z", shifted(d.odd, 0), d.exponent);
}

std::string outside_coq(const Terms& t, const RowTruth& row, const RoundedShift& shift) {
  if (t.exp2) return "exp=exp2_fma";
  if (t.any_shift) return "shift=any";
  if (t.tau > 0) return "a rescale threshold";
  if (t.flush > 0) return "ftz=yes";
  if (t.epsilon > 0) return "an epsilon";
  if (t.kept) return "normalise=kept";
  if (t.online && t.stored) return "numerators=output of an online kernel";
  if (std::isfinite(t.rescales)) return "a limit on rescales";
  if (row.finite == 0) return "a row without a finite logit";
  if (t.unit_maximum() && std::ranges::all_of(row.d, [](double d) { return d == 0 || std::isinf(d); }))
    return "a row of equal logits";  // b is 0 there
  for (std::size_t i = 0; i < row.x.size(); ++i)
    if (std::isfinite(row.x[i]) && !std::isfinite(shift.f[i])) return "a difference that overflows";
  return "";
}

std::vector<std::size_t> coq_columns(const RowTruth& row) {
  std::vector<std::size_t> columns;
  for (const std::int32_t i : row.order)
    if (std::isfinite(row.x[static_cast<std::size_t>(i)])) columns.push_back(static_cast<std::size_t>(i));
  return columns;
}

std::string coq_case(const Terms& t, const RowTruth& row, const RoundedShift& shift) {
  const std::vector<std::size_t> columns = coq_columns(row);
  int scale = 0;
  for (const std::size_t i : columns)
    scale = std::min({scale, dyadic(row.x[i]).exponent, dyadic(shift.f[i]).exponent});
  const auto whole = [&](double x) {
    const Dyadic d = dyadic(x);
    return shifted(d.odd, d.exponent - scale);
  };
  const double h = std::min(t.h, static_cast<double>(row.finite - 1));
  std::vector<double> weight(row.x.size());
  for (const std::size_t i : columns) weight[i] = row.d[i] + before_additions(t, row, shift, i, h);
  std::vector<std::size_t> heaviest = columns;
  std::ranges::stable_sort(heaviest, [&](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });

  const auto term = [&](std::size_t i) {
    return fmt::format("({}, {})", whole(row.x[i]), whole(shift.f[i]));
  };
  const auto stored = [&](std::size_t i) {
    const StoredNumerator n = stored_numerator(t, shift.f[i], 0);
    return fmt::format("({}, ({}, {}))", whole(row.x[i]), coq_dyadic(n.relative), coq_dyadic(n.absolute));
  };
  return fmt::format("Case ({})%Z {} {} {} {} {} {} {}%nat {}%Z\n  [{}]%Z\n  [{}]%Z\n  [{}]%Z", scale,
                     coq_dyadic(t.u), coq_dyadic(t.u), coq_dyadic(t.exp_constant), coq_dyadic(t.exp_slope),
                     coq_dyadic(t.eta), t.online ? "true" : "false", h, t.shifted ? whole(row.m) : "0x0",
                     joined(columns, term), joined(heaviest, term),
                     t.stored ? joined(columns, stored) : std::string());
}

}  // namespace assay

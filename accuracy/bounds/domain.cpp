// SPDX-License-Identifier: Apache-2.0
// The rows about which a claim says nothing, and why.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "accuracy/bounds/bounds.hpp"

namespace assay {

double largest_absorbing_lse(const Claim& claim) {
  if (claim.internals == Internals::f32) return 0x1p-11 / unit_roundoff(Dtype::f32);
  return 0.25 / unit_roundoff(claim.internals == Internals::f16 ? Dtype::f16 : Dtype::bf16);
}

bool absorbed(const Claim& claim, const Terms& terms, const RowTruth& row) {
  return terms.any_log_form && std::fabs(row.lse.lo) > largest_absorbing_lse(claim);
}

std::string outside_domain(const Claim& claim, const RowTruth& row, double b) {
  const double log_max_f32 = std::log(max_finite(Dtype::f32));
  if (claim.algorithm == Algorithm::naive) {
    if (row.kind == RowKind::pos_inf) {
      double largest = -std::numeric_limits<double>::infinity();
      for (double x : row.x)
        if (std::isfinite(x)) largest = std::max(largest, x);
      if (!(largest < log_max_f32))
        return fmt::format("a finite logit {:g} overflows exp (from {:.4f})", largest, log_max_f32);
    }
    if (row.kind == RowKind::finite || row.kind == RowKind::masked) {
      const double lowest = std::log(min_normal(Dtype::f32)) + 1;
      if (!(row.m >= lowest)) return fmt::format("maximum {:.6g} is below {:.4f}", row.m, lowest);
      // A divisor above 2^126 gives 0 in an approximate division, and has a subnormal reciprocal.
      const double limit = claim.division == Division::ieee ? log_max_f32 : 87.33;
      if (!(row.lse.hi + b < limit))
        return fmt::format("lse {:.6g} is not below {:.4f}", row.lse.hi, limit - b);
    }
  }
  const bool judged = row.kind == RowKind::finite || row.kind == RowKind::masked;
  // Beyond this limit fl(m log2e) is off by several nats, and exp2 at the maximum must still be finite.
  constexpr double kExp2Limit = 1e8;
  if (claim.exp == Exp::exp2_fma && judged && !(std::fabs(row.m) <= kExp2Limit))
    return fmt::format("maximum {:.6g} is beyond {:g}", row.m, kExp2Limit);
  // A partial sum is relative to its own reference. It may reach (the number of its terms) e^tau, even if
  // little of it is left relative to the final maximum.
  const double partial = static_cast<double>(row.finite) * std::exp(claim.rescale_threshold + b);
  if (claim.rescale_threshold > 0 && judged && !(partial < max_finite(Dtype::f32)))
    return fmt::format("a partial sum of {} terms times e^{:g} may overflow", row.finite,
                       claim.rescale_threshold);
  // x - lse has an error of one ulp of lse. Beyond this limit that is more than a judgement may leave unseen.
  const double most_lse = largest_absorbing_lse(claim);
  if (claim.log_form == LogForm::absorb && judged && !(std::fabs(row.lse.lo) <= most_lse))
    return fmt::format("lse {:.6g} is beyond {:g}: x - lse absorbs the result", row.lse.lo, most_lse);
  if (claim.internals == Internals::f16 && claim.algorithm == Algorithm::naive)
    return "exp(x) in f16 overflows from 11.09: no bound is claimed for it";
  if (claim.internals == Internals::f16 && claim.algorithm == Algorithm::online && judged &&
      !(partial < max_finite(Dtype::f16)))
    return fmt::format("a partial sum of {} terms may overflow", row.finite);
  // The reciprocal of a sum above 2^14 is subnormal in f16.
  if (claim.internals == Internals::f16 && claim.division == Division::reciprocal && judged &&
      !(row.s.hi * std::exp(b) < 0x1p14))
    return fmt::format("the reciprocal of the sum {:.6g} is subnormal", row.s.hi);
  if (claim.internals == Internals::f16 && judged && !(row.s.hi * std::exp(b) < max_finite(Dtype::f16)))
    return fmt::format("the sum {:.6g} is not below {:.6g}", row.s.hi, max_finite(Dtype::f16) * std::exp(-b));
  return {};
}

namespace {
std::string outside_values(const Limits& l, const Policy& policy, std::span<const double> logits) {
  const bool any = policy.nan == NanRows::any || policy.pos_inf == PosInfRows::any ||
                   policy.all_neg_inf == NegInfRows::any;
  if (logits.empty() || (!l.finite && l.max_abs == 0 && !any)) return {};
  double largest = 0;
  bool nan = false, pos_inf = false, neg_inf = false, finite = false;
  for (const double x : logits) {
    nan |= std::isnan(x);
    pos_inf |= x == std::numeric_limits<double>::infinity();
    neg_inf |= x == -std::numeric_limits<double>::infinity();
    if (!std::isfinite(x)) continue;
    finite = true;
    largest = std::max(largest, std::fabs(x));
  }
  if (l.finite && (nan || pos_inf || neg_inf)) return "the row has a logit that is not finite";
  if (nan && policy.nan == NanRows::any) return "the row has a NaN: nan=any";
  if (!nan && pos_inf && policy.pos_inf == PosInfRows::any) return "the row has +inf: pos_inf=any";
  if (!nan && !pos_inf && !finite && policy.all_neg_inf == NegInfRows::any)
    return "every logit is -inf: all_neg_inf=any";
  if (l.max_abs > 0 && largest > l.max_abs)
    return fmt::format("the row has a logit of size {:g}, max_abs = {:g}", largest, l.max_abs);
  return {};
}
}  // namespace

std::string unjudged_dtype(const Variant& v) {
  if (v.dtype == Dtype::f64)
    return "dtype: f64 logits: bounds are derived for arithmetic in f32 and narrower";
  return {};
}

std::string outside_values(const Variant& variant, std::span<const double> logits) {
  return outside_values(variant.limits, variant.claim.policy, logits);
}

std::string outside_own(const Variant& variant, std::span<const double> logits) {
  Limits l;
  l.max_abs = variant.limits.max_abs;
  return outside_values(l, variant.claim.policy, logits);
}

std::string outside_stored(const Variant& variant, std::span<const double> logits) {
  return outside_values(variant.limits, Policy{}, logits);
}

std::string beyond_limits(const Variant& variant, const Problem& p, std::int64_t offset) {
  const Limits& l = variant.limits;
  if (p.V < l.min_V) return fmt::format("V = {} is below min_V = {}", p.V, l.min_V);
  if (p.rows < l.min_rows) return fmt::format("{} rows are fewer than min_rows = {}", p.rows, l.min_rows);
  if (variant.claim.causal != Causal::no) {
    if (p.op != Op::softmax && p.op != Op::normalizer)
      return fmt::format("causal is judged only for a softmax, this is {}", name(p.op));
    if (p.V == 0 ? p.rows != 0 : p.rows % p.V != 0)
      return fmt::format("{} row{} of {}: a causal problem is made of squares, its rows are a multiple of V",
                         p.rows, p.rows == 1 ? "" : "s", p.V);
  }
  if (l.max_V > 0 && p.V > l.max_V) return fmt::format("V = {} exceeds max_V = {}", p.V, l.max_V);
  if (p.V % l.V_multiple != 0) return fmt::format("V = {} is not a multiple of {}", p.V, l.V_multiple);
  if (l.V_in.count > 0 && !l.V_in.contains(p.V)) return fmt::format("V = {} is none of V_in", p.V);
  if (l.max_rows > 0 && p.rows > l.max_rows)
    return fmt::format("{} rows are more than max_rows = {}", p.rows, l.max_rows);
  if (p.rows % l.rows_multiple != 0)
    return fmt::format("{} rows are not a multiple of {}", p.rows, l.rows_multiple);
  if (l.max_elements > 0 && p.V > 0 && p.rows > l.max_elements / p.V)
    return fmt::format("{} rows of {} are more than max_elements = {}", p.rows, p.V, l.max_elements);
  if (l.k_up_to_V && selects(p.op) && p.k > p.V) return fmt::format("k = {} exceeds V = {}", p.k, p.V);
  const bool several = p.rows > 1;
  if (l.dense && several && (p.in_pitch != p.V || p.out_pitch != p.out_columns()))
    return fmt::format("rows {} elements apart are not dense", p.in_pitch);
  if (l.alignment <= 1) return {};
  const auto aligned = [&](std::int64_t pitch, Dtype t) {
    return !several || pitch * static_cast<std::int64_t>(size_of(t)) % l.alignment == 0;
  };
  // The outputs must be aligned too if they are rows of V. k values, or a single one, are written one by one.
  if (offset % l.alignment != 0 || !aligned(p.in_pitch, p.in) ||
      (p.out_columns() == p.V && !selects(p.op) && !aligned(p.out_pitch, p.out)))
    return fmt::format("rows of {} at {} bytes, {} elements apart, do not all start at multiples of {} bytes",
                       p.V, offset, p.in_pitch, l.alignment);
  return {};
}

std::int64_t allowed_rows(const Limits& l, std::int64_t rows) {
  if (rows == 0) return 0;
  const std::int64_t multiple =
      (std::max(rows, l.min_rows) + l.rows_multiple - 1) / l.rows_multiple * l.rows_multiple;
  return l.max_rows > 0 ? std::min(multiple, l.max_rows / l.rows_multiple * l.rows_multiple) : multiple;
}

// The argument of the exp, rounded as each kind of shift rounds it. The operations are repeated here, so the
// error is known exactly.

namespace {

/// The argument of exp2f(fmaf(x, log2e, -(m * log2e))), in nats. Long double keeps what the subtractions
/// cancel.
RoundedShift exp2_shift(const RowTruth& row) {
  constexpr float log2e = 0x1.715476p+0f;
  constexpr long double ln2 = 0xb.17217f7d1cf79acp-4L;
  const std::size_t n = row.x.size();
  RoundedShift s;
  s.f.resize(n);
  s.delta.assign(n, 0);
  const float c = static_cast<float>(row.m) * log2e;
  const auto nats = [&](double x) {
    return ln2 * static_cast<long double>(std::fmaf(static_cast<float>(x), log2e, -c));
  };
  const long double top = nats(row.m);
  for (std::size_t i = 0; i < n; ++i) {
    const long double f = nats(row.x[i]);
    s.f[i] = static_cast<double>(f);
    if (std::isinf(s.f[i])) continue;
    const long double d = static_cast<long double>(row.x[i]) - static_cast<long double>(row.m);
    s.delta[i] = static_cast<double>(f - top - d);
  }
  return s;
}

/// The kernel's own logits are not known. Each difference is off by the errors of two logits, by its own
/// rounding, and by the rounding of a scale that is applied to the difference (two more roundings of any
/// kind).
RoundedShift loose_shift(const RowTruth& row, const Terms& t, RoundedShift s) {
  const double of_maximum = row.argmax >= 0 ? row.slack[static_cast<std::size_t>(row.argmax)] : 0;
  for (std::size_t i = 0; i < s.f.size(); ++i) {
    if (std::isinf(s.f[i])) continue;
    const double own = std::fabs(s.delta[i]) + std::fabs(row.d[i]) * 3 * t.u;
    s.f[i] = t.shifted ? row.d[i] : row.x[i];
    s.delta[i] = own + row.slack[i] + of_maximum;
  }
  return s;
}

}  // namespace

RoundedShift shift_of(const RowTruth& row, Dtype arithmetic, bool shifted) {
  const std::size_t n = row.x.size();
  RoundedShift s;
  s.f.resize(n);
  s.delta.assign(n, 0);
  if (!shifted) {
    s.f = row.x;
    return s;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double exact = row.x[i] - row.m;  // inexact by at most 2^-53 |d|, far below u |d|
    double f;
    if (arithmetic == Dtype::f32)
      f = static_cast<double>(static_cast<float>(row.x[i]) - static_cast<float>(row.m));
    else
      f = round_to(arithmetic, exact);
    s.f[i] = f;
    s.delta[i] = std::isinf(f) ? 0 : f - exact;
  }
  return s;
}

RoundedShift shift_of(const RowTruth& row, const Terms& t) {
  RoundedShift s = t.exp2 ? exp2_shift(row) : shift_of(row, t.arithmetic, t.shifted);
  if (!row.slack.empty()) return loose_shift(row, t, std::move(s));
  if (t.exp2) return s;
  // If the rounding is not known, the shift is off by up to u of the distance.
  if (t.any_shift)
    for (std::size_t i = 0; i < s.f.size(); ++i)
      if (!std::isinf(s.f[i])) s.f[i] = row.d[i], s.delta[i] = std::fabs(row.d[i]) * t.u;
  return s;
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The argument of the exp, rounded as each kind of shift rounds it. The operations are repeated here, so the
// error is known exactly.
#include <cmath>
#include <limits>
#include <utility>

#include "accuracy/bounds/bounds.hpp"

namespace assay {
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

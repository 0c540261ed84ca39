// SPDX-License-Identifier: Apache-2.0
// ulp_error is a real number: the distance of a result from the exact value, in units in the last place (ulp)
// of the exact value. A correctly rounded result has at most 0.5. ulp_distance is something else: the integer
// number of steps between two floats.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/formats.hpp"
#include "reference/oracle/oracle.hpp"

namespace assay {

/// Enclosure of |got - y| / ulp_T(y) over all y in `exact`. NaN or infinite `got` gives {inf, inf}.
inline Enclosure ulp_error(Dtype t, double got, const Enclosure& exact) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (!std::isfinite(got)) return {inf, inf};
  const double a = std::fabs(got - exact.lo);
  const double b = std::fabs(got - exact.hi);
  const double fine = ulp(t, exact.lo);
  const double coarse = ulp(t, exact.hi);
  const double near = exact.contains(got) ? 0 : (a < b ? a : b);
  return {near / coarse, (a < b ? b : a) / fine};
}

/// (got - y) / ulp_T(y) at the middle of the enclosure, for histograms.
inline double signed_ulp_error(Dtype t, double got, const Enclosure& exact) {
  const double y = 0.5 * (exact.lo + exact.hi);
  return (got - y) / ulp(t, y);
}

/// The number of steps between two bit patterns of the format; +0 and -0 count as the same number. -1 if
/// either is NaN.
inline std::int64_t ulp_distance(Dtype t, std::uint64_t a, std::uint64_t b) {
  if (is_nan_bits(t, a) || is_nan_bits(t, b)) return -1;
  const std::uint64_t sign = format(t).sign_mask();
  const auto place = [sign](std::uint64_t v) {
    const auto magnitude = static_cast<std::int64_t>(v & (sign - 1));
    return v & sign ? -magnitude : magnitude;
  };
  const std::int64_t d = place(a) - place(b);
  return d < 0 ? -d : d;
}

}  // namespace assay

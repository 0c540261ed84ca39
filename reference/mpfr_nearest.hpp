// SPDX-License-Identifier: Apache-2.0
// For tests: rounds to a format by integer steps, and shares no step with encode() or round_bits().
#pragma once

#include <mpfr.h>

#include <limits>

#include "reference/formats.hpp"
#include "reference/mpfr_value.hpp"

namespace assay {

/// v / ulp_T(v) rounded to an even integer, times ulp_T(v). Infinity from 2^(emax + 1) on.
inline double nearest_by_integers(Dtype t, mpfr_srcptr v) {
  if (mpfr_zero_p(v)) return 0;
  const Format f = format(t);
  long e = static_cast<long>(mpfr_get_exp(v)) - 1;
  if (e < f.emin) e = f.emin;
  const long quantum = e - f.mantissa_bits();
  MpfrValue scaled(mpfr_get_prec(v)), whole(64);
  mpfr_div_2si(scaled, v, quantum, MPFR_RNDN);
  mpfr_roundeven(whole, scaled);
  mpfr_mul_2si(whole, whole, quantum, MPFR_RNDN);
  if (!mpfr_zero_p(whole) && mpfr_get_exp(whole) > f.emax + 1)
    return mpfr_signbit(whole) ? -std::numeric_limits<double>::infinity()
                               : std::numeric_limits<double>::infinity();
  return mpfr_get_d(whole, MPFR_RNDN);
}

}  // namespace assay

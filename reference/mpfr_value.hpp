// SPDX-License-Identifier: Apache-2.0
// MPFR numbers that free themselves, and the two conversions from MPFR that the oracle uses: to doubles
// rounded outward, and to the bits of the nearest value of a format.
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <limits>

#include "reference/formats.hpp"

namespace assay {

class MpfrValue {
 public:
  explicit MpfrValue(mpfr_prec_t precision) { mpfr_init2(value_, precision); }
  MpfrValue(const MpfrValue&) = delete;
  MpfrValue& operator=(const MpfrValue&) = delete;
  ~MpfrValue() { mpfr_clear(value_); }

  operator mpfr_ptr() { return value_; }
  operator mpfr_srcptr() const { return value_; }

 private:
  mpfr_t value_;
};

/// MPFR caches constants per thread and frees them only when told to. Call once per thread that uses MPFR.
inline void free_mpfr_cache_at_thread_exit() {
  struct AtExit {
    ~AtExit() { mpfr_free_cache(); }
  };
  thread_local const AtExit at_exit;
  (void)at_exit;
}

inline double down(mpfr_srcptr v) { return mpfr_get_d(v, MPFR_RNDD); }
inline double up(mpfr_srcptr v) { return mpfr_get_d(v, MPFR_RNDU); }

/// Bits of the value of the format nearest to a finite v, ties to even. It rounds once, for subnormals too.
inline std::uint64_t round_bits(Dtype t, mpfr_srcptr v) {
  if (mpfr_zero_p(v)) return 0;
  const Format f = format(t);
  const std::uint64_t sign = mpfr_signbit(v) ? f.sign_mask() : 0;
  const mpfr_exp_t e = mpfr_get_exp(v) - 1;  // floor(log2 |v|)
  const mpfr_exp_t lost = e < f.emin ? f.emin - e : 0;
  if (lost > f.precision) return sign;
  if (lost == f.precision) {  // |v| is in [1/2, 1) of the smallest subnormal; 1/2 is a tie and goes to zero
    const bool tie = mpfr_min_prec(v) == 1;  // v is a power of two
    return sign | (tie ? 0 : 1);
  }
  MpfrValue nearest(f.precision - lost);
  mpfr_set(nearest, v, MPFR_RNDN);
  return encode(t, mpfr_get_d(nearest, MPFR_RNDN));  // exact, except for overflow to infinity
}

// For tests: rounds to a format by integer steps, and shares no step with encode() or round_bits().

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

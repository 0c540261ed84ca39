// SPDX-License-Identifier: Apache-2.0
// Judges one value of a function under test by MPFR.
#include <algorithm>
#include <cmath>

#include "accuracy/functions/function_sweep.hpp"
#include "reference/mpfr_value.hpp"

namespace assay::functions {
namespace {

void exact_in(mpfr_ptr out, Truth truth, double a, double b, mpfr_rnd_t rounding) {
  MpfrValue x(53);
  // Beyond 2^20 results overflow or vanish in every format, and so would MPFR's. The value at the end stands
  // for the values beyond it, because no rounding distinguishes them.
  if (truth == Truth::exp || truth == Truth::exp2) a = std::clamp(a, -0x1p20, 0x1p20);
  mpfr_set_d(x, a, MPFR_RNDN);
  switch (truth) {
    case Truth::exp:
      mpfr_exp(out, x, rounding);
      return;
    case Truth::exp2:
      mpfr_exp2(out, x, rounding);
      return;
    case Truth::log:
      mpfr_log(out, x, rounding);
      return;
    case Truth::divide:
      mpfr_div_d(out, x, b, rounding);
  }
}

}  // namespace

Judged decide_by_mpfr(const Rules& r, const Sample& x) {
  free_mpfr_cache_at_thread_exit();
  const Dtype dtype = r.bits == 32 ? Dtype::f32 : r.mantissa == 7 ? Dtype::bf16 : Dtype::f16;
  Judged j{};
  for (mpfr_prec_t precision = 128; precision <= 4096 && !j.decided; precision *= 2) {
    MpfrValue lo(precision), hi(precision);
    exact_in(lo, r.truth, x.a, x.b, MPFR_RNDD);
    exact_in(hi, r.truth, x.a, x.b, MPFR_RNDU);
    const std::uint64_t rounded = round_bits(dtype, lo);
    const auto unit_exponent = [&r](mpfr_srcptr v) {
      return std::clamp<long>(static_cast<long>(mpfr_get_exp(v)) - 1, r.emin, r.emax) - r.mantissa;
    };
    const long exponent = unit_exponent(lo);
    j.decided = rounded == round_bits(dtype, hi) && exponent == unit_exponent(hi);
    j.unit = std::ldexp(1.0, static_cast<int>(exponent));
    j.correct = x.got_bits == rounded;
    // Distances in units, rounded outward; infinity stands for 2^(emax + 1).
    const double over = std::ldexp(1.0, r.emax + 1);
    const double got = std::isinf(x.got) ? std::copysign(over, x.got) : x.got;
    MpfrValue distance(precision);
    double error = 0, signed_error = 0;
    for (mpfr_srcptr end : {static_cast<mpfr_srcptr>(lo), static_cast<mpfr_srcptr>(hi)}) {
      mpfr_d_sub(distance, got, end, MPFR_RNDA);
      mpfr_div_2si(distance, distance, exponent, MPFR_RNDN);
      signed_error = mpfr_get_d(distance, MPFR_RNDN) * (mpfr_signbit(end) ? -1 : 1);
      error = std::max(error, std::fabs(mpfr_get_d(distance, MPFR_RNDA)));
    }
    const bool overflowed = std::isinf(x.got) && j.correct;
    j.error = std::isnan(x.got) ? HUGE_VAL : overflowed ? 0 : error;
    j.signed_error = overflowed || std::isnan(x.got) ? 0 : signed_error;
    j.size = std::fabs(mpfr_get_d(lo, MPFR_RNDN)) / j.unit;
    j.relative = j.error / j.size;
  }
  return j;
}

}  // namespace assay::functions

// SPDX-License-Identifier: Apache-2.0
#include "reference/oracle/oracle_exp.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/mpfr_value.hpp"

namespace assay {
namespace {

constexpr int kDigits = 5;  // |x - m| <= 2^14 in units of 2^-24: 39 bits, five base-256 digits
constexpr double kUnit = 0x1p-24;

/// e^(-j 256^digit 2^-24) to nearest at kTablePrecision.
class PowerTable {
 public:
  PowerTable() : limbs_(kDigits * 256 * limbs_each()), entries_(kDigits * 256) {
    MpfrValue argument(64);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      mpfr_custom_init_set(&entries_[i], MPFR_ZERO_KIND, 0, kTablePrecision, &limbs_[i * limbs_each()]);
      mpfr_set_si_2exp(argument, -static_cast<long>(i % 256), static_cast<long>(i / 256) * 8 - 24, MPFR_RNDN);
      mpfr_exp(&entries_[i], argument, MPFR_RNDN);
    }
  }
  mpfr_srcptr at(int digit, std::uint64_t j) const {
    return &entries_[static_cast<std::size_t>(digit) * 256 + j];
  }

 private:
  static std::size_t limbs_each() { return mpfr_custom_get_size(kTablePrecision) / sizeof(mp_limb_t); }
  std::vector<mp_limb_t> limbs_;
  std::vector<__mpfr_struct> entries_;
};

// x - m = d + err exactly (Knuth's two-sum; nothing overflows because |d| <= 2^14), |err| <= 2^-39.
// |d| = (sum of digits) + rest with 0 <= rest < 2^-24, exactly, because truncation to a multiple of a power
// of two leaves a part of d's significand. With r = err - rest, |r| < 2^-23.9,
//   e^(x - m) = e^r prod e^(-digit),  e^r = 1 + r + r^2/2 + tail,  tail = r^3/6 + r^4/24 + [0, 2^-126].
// Relative errors for P = 128, with e^r in (1 - 2^-23, 1 + 2^-38). Five factors and five products: 10 x 2^-P
// (1 + tiny). r, its square and the sums: 2^-P for the final sum, at most 2^-23 of that for each of the
// others. The tail, computed in double: |tail| < 2^-74.2, its error at most 8 x 2^-53 of it, so 2^-124. The
// next term of the series, r^5/120, is below 2^-126. Together below 2^-123 < 2^(15 - P).
void table_exp(mpfr_ptr out, double d, double err) {
  static const PowerTable table;
  thread_local MpfrValue r_value(kTablePrecision), square_value(kTablePrecision);
  const mpfr_ptr big_r = r_value, square = square_value;
  const double size = -d;
  const auto units = static_cast<std::uint64_t>(size / kUnit);
  const double rest = size - static_cast<double>(units) * kUnit;

  mpfr_set_d(big_r, -rest, MPFR_RNDN);
  if (err != 0) mpfr_add_d(big_r, big_r, err, MPFR_RNDN);
  if (mpfr_zero_p(big_r)) {
    mpfr_set_ui(out, 1, MPFR_RNDN);
  } else {
    const double r = err - rest;
    const double tail = r * r * r * (1.0 / 6 + r * (1.0 / 24));
    mpfr_sqr(square, big_r, MPFR_RNDN);
    mpfr_div_2ui(square, square, 1, MPFR_RNDN);
    mpfr_add_d(square, square, tail, MPFR_RNDN);
    mpfr_add(big_r, big_r, square, MPFR_RNDN);
    mpfr_add_ui(out, big_r, 1, MPFR_RNDN);
  }
  for (int digit = 0; digit < kDigits; ++digit) {
    const std::uint64_t j = units >> (8 * digit) & 255;
    if (j != 0) mpfr_mul(out, out, table.at(digit, j), MPFR_RNDN);
  }
}

}  // namespace

void exp_difference(mpfr_ptr out, double x, double m) {
  if (mpfr_get_prec(out) == kTablePrecision) {
    const double d = x - m;
    const double back = d - x;
    table_exp(out, d, (x - (d - back)) + (-m - back));
    return;
  }
  // Rounding x - m gives a relative error of 2^-P, which e^t turns into |x - m| 2^-P <= 2^14 2^-P (1 +
  // 2^-53). With the rounding of exp: (1 + 2^14) 2^-P (1 + tiny) < 2^(15 - P). tiny is second order, 2^-10 at
  // P = 24.
  thread_local MpfrValue exact(53);
  mpfr_set_d(exact, x, MPFR_RNDN);
  mpfr_sub_d(out, exact, m, MPFR_RNDN);
  mpfr_exp(out, out, MPFR_RNDN);
}

}  // namespace assay

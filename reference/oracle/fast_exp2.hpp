// SPDX-License-Identifier: Apache-2.0
// 2^x in fp64 with a proved error. x is reduced exactly to |f| <= 1/2; then fast_exp.hpp computes e^(f ln 2),
// with f ln 2 in two parts. The two parts differ from f ln 2 by less than 2^-106 (the rounding of t_lo) and
// 2^-109 (the third part of ln 2). The error is therefore that of exp() times at most 1 + 2^-50.
#pragma once

#include "reference/oracle/fast_exp.hpp"

namespace assay::fast {

/// Relative error of exp2() below.
inline constexpr double kExp2Error = 0x1.61p-53;

/// 2^x (1 + e) with |e| <= kExp2Error, for |x| <= 1020. Exact if x is an integer.
ASSAY_HOST_DEVICE double exp2(double x) {
  constexpr double kShifter = 0x1.8p52;
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  constexpr double kLn2Rest = 0x1.abc9e3b39803fp-56;
  const double shifted = x + kShifter;
  const double f = x - (shifted - kShifter);
  const double t = f * kLn2;
  const double t_lo = fma(f, kLn2Rest, fma(f, kLn2, -t));
  return exp(t, t_lo) * from_bits((bits_of(shifted) + 1023) << 52);
}

}  // namespace assay::fast

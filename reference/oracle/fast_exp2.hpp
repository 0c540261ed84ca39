// 2^x in fp64 with a proved error: an exact reduction to |f| <= 1/2, then e^(f ln 2) by fast_exp.hpp with f
// ln 2 in two parts. What the two parts miss of f ln 2 is below 2^-106 (the rounding of t_lo) and 2^-109 (the
// third part of ln 2), so the error is that of exp but for a factor of 1 + 2^-50.
#pragma once

#include "reference/oracle/fast_exp.hpp"

namespace assay::fast {

/// Relative error of exp2 below.
inline constexpr double kExp2Error = 0x1.61p-53;

/// 2^x (1 + e), |e| <= kExp2Error, for |x| <= 1020. Exact where x is an integer.
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

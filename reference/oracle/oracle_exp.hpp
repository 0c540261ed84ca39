// SPDX-License-Identifier: Apache-2.0
// e^(x - m) in MPFR, the only transcendental function of the oracle. At most precisions it is mpfr_exp. At
// the first precision, which decides nearly every element, it is a product of tabulated powers, several times
// cheaper.
#pragma once

#include <mpfr.h>

namespace assay {

/// No exponential is taken if x - m is below this: e^kCut < 2^-23636, and 2^kCutLog2 bounds it.
inline constexpr double kCut = -16384;
inline constexpr long kCutLog2 = -23000;

/// The precision that has a table.
inline constexpr mpfr_prec_t kTablePrecision = 128;

/// Sets out to e^(x - m) for kCut <= x - m <= 0, with a relative error below 2^(15 - P), where P >= 24 is the
/// precision of out. x and m are finite, x <= m, and x - m rounded to double is kCut or more.
void exp_difference(mpfr_ptr out, double x, double m);

}  // namespace assay

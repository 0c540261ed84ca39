// e^(x - m) in MPFR: the one transcendental of the oracle. mpfr_exp at most precisions; at the first one,
// where nearly every element is decided, a product of tabulated powers, several times cheaper.
#pragma once

#include <mpfr.h>

namespace assay {

/// Below this x - m no exponential is taken: e^kCut < 2^-23636, and 2^kCutLog2 bounds it.
inline constexpr double kCut = -16384;
inline constexpr long kCutLog2 = -23000;

/// The precision with a table.
inline constexpr mpfr_prec_t kTablePrecision = 128;

/// Sets out to e^(x - m) for kCut <= x - m <= 0, with a relative error below 2^(15 - P), P the precision of
/// out, 24 <= P. Takes any finite x <= m whose difference, rounded to double, is kCut or more.
void exp_difference(mpfr_ptr out, double x, double m);

}  // namespace assay

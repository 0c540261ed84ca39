// What a claim may do to a row besides its usual arithmetic: add a small number to the sum, and keep the
// numerators in a narrower type. BOUNDS.md section 5a derives both.
#pragma once

#include "accuracy/bounds/bounds.hpp"

namespace assay {

/// The argument of the exp at the maximum.
double anchor_of(const RowTruth& row, const RoundedShift& shift);

/// epsilon beside s: relative to e^anchor, as the numerators are.
double relative_epsilon(const Terms& t, double anchor);

/// The row whose exact results are those of a sum with epsilon in it: p = e^d / (s + epsilon) and lse = m +
/// ln(s + epsilon). Its `rounded` is empty: those bits are of another number.
RowTruth with_epsilon(const RowTruth& row, const Terms& t, const RoundedShift& shift);

/// How far a numerator that was stored lies from e^f: by a factor, or, where it is subnormal, by an absolute
/// error as well.
struct StoredNumerator {
  double relative = 0;  // its log-error, the exp's included
  double absolute = 0;
};
/// `slack`: log-error of an argument whose rounding is not known.
StoredNumerator stored_numerator(const Terms& t, double f, double slack);

}  // namespace assay

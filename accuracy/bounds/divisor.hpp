// SPDX-License-Identifier: Apache-2.0
// Two things that a claim may add to the usual arithmetic of a row: a small number (epsilon) is added to the
// sum, and the numerators are kept in a narrower type. BOUNDS.md section 5a derives the bounds of both.
#pragma once

#include "accuracy/bounds/bounds.hpp"

namespace assay {

/// The argument of the exp at the maximum.
double anchor_of(const RowTruth& row, const RoundedShift& shift);

/// epsilon on the scale of s: relative to e^anchor, like the numerators.
double relative_epsilon(const Terms& t, double anchor);

/// The row whose exact results include epsilon in the sum: p = e^d / (s + epsilon) and lse = m + ln(s +
/// epsilon). Its `rounded` is empty, because the stored roundings belong to the sum without epsilon.
RowTruth with_epsilon(const RowTruth& row, const Terms& t, const RoundedShift& shift);

/// How far a stored numerator lies from e^f: a relative error, and for a subnormal numerator an absolute
/// error as well.
struct StoredNumerator {
  double relative = 0;  // its log-error, including the exp's
  double absolute = 0;
};
/// `slack`: log-error of an argument whose rounding is not known.
StoredNumerator stored_numerator(const Terms& t, double f, double slack);

}  // namespace assay

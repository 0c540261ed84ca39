// SPDX-License-Identifier: Apache-2.0
// From outputs to a verdict. Outputs are judged under the claim, with the fast oracle or, where that is
// undecided, with MPFR. They are judged as sharply as what is known about the kernel's sum allows. Every
// launch of every command ends here.
#pragma once

#include <functional>
#include <optional>

#include "accuracy/case/case.hpp"
#include "accuracy/probes/measured_sum.hpp"
#include "accuracy/record.hpp"
#include "accuracy/verdict/judgement.hpp"

namespace assay {

struct VerdictOptions {
  ErrorProfile* profile = nullptr;
  std::optional<double> max_ulp = {};
  /// For a kernel that declares no height: measures its sum in launches of at least this many rows. Empty for
  /// outputs of another program.
  std::function<MeasuredSum(std::int64_t rows)> measure = {};
};

/// Returns `record` with what was judged and the status that follows from it. `look` shows the launches to a
/// judgement; it is called once for each judgement that is needed.
///
/// If the height is declared, the outputs must be within the bound of the class. If that bound is too weak to
/// tell right from wrong, they must be within a lower one that is not.
///
/// If no height is declared, these steps follow each other:
/// - A kernel that can be launched is judged as a sum of at most kFewAdditions additions. If it passes, it is
///   done.
/// - It is judged as the sum that was measured at this V (the row length), first in a few rows, and if that
///   fails, in as many rows as the case has. Outputs that fail here but would pass as a serial sum are
///   `fail`, and the record says so.
/// - If nothing could be measured, it is judged with roundings of mixed sign (VERDICT.md section 4). Outputs
///   that fail here but would pass as a serial sum are `inconclusive`, and the record names the word that
///   settles it. They pass if the bound of the serial sum is sharp enough (1/512).
/// - It is judged as a serial sum. What fails here is `fail`, proved.
Record verdict(Record record, const Variant& variant, const Case& c, Op op, const VerdictOptions& options,
               const std::function<void(Judgement&)>& look);

/// The limit of the first step: additions on a path, and rescales of a term.
inline constexpr double kFewAdditions = 32;

/// n roundings of mixed sign add up to kMixedSign sqrt(n) worst-case roundings. N. J. Higham and T. Mary
/// (SIAM J. Sci. Comput. 41(5), 2019), theorem 2.4: roundings that are independent, or mean independent, with
/// mean 0 stay within this, except with probability 2 exp(-kMixedSign^2 / 2), which is 3e-8 here.
inline constexpr double kMixedSign = 6;

}  // namespace assay

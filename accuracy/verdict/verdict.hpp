// SPDX-License-Identifier: Apache-2.0
// From outputs to a verdict. Outputs are judged under the claim, with the fast oracle or, where that is
// undecided, with MPFR. They are judged as sharply as what is known about the kernel's sum allows. Every
// launch of every command ends here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "accuracy/case/case.hpp"
#include "accuracy/record.hpp"
#include "accuracy/verdict/judgement.hpp"

namespace assay {

struct VerdictOptions {
  ErrorProfile* profile = nullptr;
  std::optional<double> max_ulp = {};
  /// The kernel can be launched again, on such a case: its sum can be measured, and a proof be looked for.
  /// False for outputs of another program.
  bool launches = false;
  Pick pick = {};
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
///   fails, in as many rows as the case has. A pass also needs errors no larger than roundings of mixed sign
///   make them. Outputs that do not pass here but would pass as a serial sum are `fail` if a row made from
///   theirs fails as a serial sum (raised_column), else `inconclusive`: the record names the word that
///   settles it.
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

// Looks for a proof. A measured sum is none: another order of additions may explain the outputs. But if one
// logit is raised until its term alone makes up the sum, no order explains a sum that does not answer.

struct RaisedColumn {
  std::int64_t column = -1;
  bool left_out = false;  // the sum does not hold its term
  std::string detail;     // "column 5 is left out of the sum: ..."
};

/// A column that, raised far above all others in this row (`logits` has one row), makes the kernel fail as a
/// serial sum: `fails` judges that. It is looked for where terms seem to be missing, in launches of at least
/// `at_least` rows. Empty if none is found, and for an op whose outputs do not tell the sum.
std::optional<RaisedColumn> raised_column(const Variant& variant, const Tensor& logits, std::int64_t at_least,
                                          const std::function<bool(const Tensor& rows)>& fails);

}  // namespace assay

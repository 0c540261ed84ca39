// From outputs to a verdict: judged under the claim, by the oracle's tier that decides, and as sharply as what
// is known of the kernel's sum allows. Every launch of every command ends here.
#pragma once

#include <functional>
#include <optional>

#include "accuracy/case/case.hpp"
#include "accuracy/probes/measured_sum.hpp"
#include "accuracy/record.hpp"
#include "accuracy/verdict/judgement.hpp"

namespace assay {

struct VerdictOptions {
  ElementObserver* observer = nullptr;
  std::optional<double> max_ulp = {};
  /// Of a kernel that declares no height: how to measure its sum in launches of at least so many rows. Empty for
  /// outputs that somebody else made.
  std::function<MeasuredSum(std::int64_t rows)> measure = {};
};

/// `record` with what was judged and the status that follows from it. `look` shows the launches to a judgement;
/// it is called for each, as often as it takes.
///
/// Declared height: the outputs must be within the class's bound. Where that bound is too weak to tell right
/// from wrong, they must be within one that is not.
///
/// No declared height, in this order:
/// - of a kernel that can be launched, as a sum of at most kFewAdditions additions: what passes there needs no
///   more;
/// - as the sum that was measured at this V, in a few rows, and where that fails in as many as the case has: what
///   fails there and would pass as a serial sum is `fail`, and the record says so;
/// - where nothing could be measured, as roundings of mixed sign do (VERDICT.md section 4): what fails there and
///   would pass as a serial sum is `inconclusive`, and the record names the word that settles it, unless the serial
///   sum's bound is sharp enough to pass by (1/512);
/// - as a serial sum: what fails there is `fail`, proved.
Record verdict(Record record, const Variant& variant, const Case& c, Op op, const VerdictOptions& options,
               const std::function<void(Judgement&)>& look);

/// The first step's additions on a path, and rescales of a term.
inline constexpr double kFewAdditions = 32;

/// What n roundings of mixed sign come to, in worst-case roundings: kMixedSign sqrt(n). N. J. Higham and T. Mary
/// (SIAM J. Sci. Comput. 41(5), 2019), theorem 2.4: roundings that are independent, or mean independent, with
/// mean 0 stay within it but for a probability of 2 exp(-kMixedSign^2 / 2), 3e-8 here.
inline constexpr double kMixedSign = 6;

}  // namespace assay

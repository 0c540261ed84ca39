// After a kernel's run: the cases that one look does not settle, looked at again.
#pragma once

#include "accuracy/conformance/run/runner.hpp"

namespace assay::conformance {

/// Every case in which something befell a launch that the kernel need have no part in: once more, with no
/// other worker beside it, in a fresh process and with ten times the patience. That is its record, with what befell it at first. Once one
/// ends as it did before, the kernel's hand in it is shown, and the rest keep what they have. What hung by its own
/// time, and alone passes in less than half of that, is inconclusive: a slow kernel it is not.
void confirm(Runner& run, const Variant& variant);

/// Every first case of a finding once more, as the only one of a fresh process: what passes there needs
/// others before it to fail. Three times, because what races seldom loses.
void repeat_alone(Runner& run, const Variant& variant);

/// What the first case of every finding would pass as: the launch is made once more, under its own layout's
/// plain form, and judged under other claims.
void say_nearest(Runner& run, const Variant& variant, const ConformanceOptions& options);

}  // namespace assay::conformance

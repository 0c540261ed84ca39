// SPDX-License-Identifier: Apache-2.0
// After a kernel's run: looks again at the cases that one look does not settle.
#pragma once

#include "accuracy/conformance/run/runner.hpp"

namespace assay::conformance {

/// Runs every one of these cases again in which something happened that may have a cause outside the kernel,
/// for example a timeout on a busy machine. The case runs in a new process, with no other worker beside it,
/// and may take three times as long. The new record replaces the old one and says what happened at first. As
/// soon as one case ends as it did before, the kernel is shown to be the cause, and the other crashed and
/// hung cases keep their records. A case that hung by its own worker's time, but passes alone in less than
/// half of that time, is inconclusive: it is not just slow. Both times are the worker's own, so a busy
/// machine changes neither. `hangs`: may be null. Once they show that the kernel hangs, one look is enough.
void confirm(Runner& run, const std::vector<std::size_t>& cases, const Variant& variant,
             const Hangs* hangs = nullptr);

/// Runs the first case of every finding again, as the only case of a new process. If it passes there, it
/// needs earlier cases to fail. It is run three times, because a race seldom shows.
void repeat_alone(Runner& run, const Variant& variant);

/// Finds the class as which the first case of every finding would pass: launches it once more in the plain
/// layout, and judges it under other claims.
void say_nearest(Runner& run, const Variant& variant, const ConformanceOptions& options);

}  // namespace assay::conformance

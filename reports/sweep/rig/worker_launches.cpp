// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/rig/worker_launches.hpp"

#include "kernels/candidate.hpp"
#include "kernels/fault_kind.hpp"
#include "reports/sweep/rig/rig.hpp"

namespace assay {

void WorkerLaunches::choose(const Variant& variant) {
  if (worker_ == variant.launcher) return;
  forget();
  if (const std::string why = variant.launcher->cannot_time(); !why.empty()) throw SweepUnsupported(why);
  worker_ = variant.launcher;
}

namespace {

/// No GPU starts and ends a kernel in less; an empty one takes 0.6 us or more.
constexpr double kLeastLaunchUs = 0.2;

}  // namespace

TimedOutcome WorkerLaunches::run(const Variant& variant, const Problem& problem, const TimedSets& sets,
                                 const TimedLaunches& launches) {
  choose(variant);
  TimedOutcome outcome = worker_->time(variant, problem, sets, launches);
  const LaunchOutcome& o = outcome.launch;
  if (o.ok() && outcome.us < kLeastLaunchUs * static_cast<double>(launches.count))
    throw SweepUnsupported("its work was not seen on the stream that it was given, so it can not be timed");
  if (o.ok()) return outcome;
  switch (o.ended) {
    case Ended::lost:
      throw SweepNotRun(o.fault);
    case Ended::crashed:
      throw std::runtime_error("crashed while it was timed: " + o.fault);
    case Ended::hung:
      throw std::runtime_error("hung while it was timed: " + o.fault);
    default:
      // An error that a launcher returns is a limit.
      if (o.kind == FaultKind::returned_status) throw SweepUnsupported(o.fault);
      throw std::runtime_error("failed while it was timed: " + o.fault);
  }
}

void WorkerLaunches::forget() {
  if (worker_) worker_->forget_sets();
  worker_.reset();
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Launches of a supervisor that the worker times. Only a number comes back, which this process's own clock
// bounds; what was computed lies in memory of this process.
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "kernels/device.hpp"
#include "kernels/isolation/process/worker_clock.hpp"
#include "kernels/isolation/supervisor_ask.hpp"
#include "reference/error.hpp"

namespace assay::isolation {
namespace {

/// Nothing else is to use the device meanwhile, so nobody waits for its share of it.
constexpr double kWall = 60;

}  // namespace

std::string Supervisor::cannot_time(bool on_device) const {
  if (!on_device) return "it runs on the CPU, and a time there says nothing of a GPU";
  return unavailable_reason(Backend::cuda);
}

TimedOutcome Supervisor::time(std::uint32_t entry, const Problem& problem, const TimedSets& sets,
                              const TimedLaunches& launches) {
  const std::lock_guard<std::mutex> lock(mutex_);
  TimedOutcome out;
  if (!workspace_failure_.ok()) return {0, std::exchange(workspace_failure_, {})};
  Time request;
  request.entry = entry;
  request.launches = launches.count;
  request.first = launches.first;
  request.sets = sets.count;
  request.logits = sets.logits, request.values = sets.values;
  request.indices = sets.indices, request.workspace = sets.workspace;
  request.cold_bytes = launches.cold_bytes;
  request.cold_copies = launches.cold_copies;
  request.own_stream = launches.own_stream;
  request.problem = problem;
  struct Wall {
    double& of;
    ~Wall() { of = 0; }
  } const wall{wall_};
  wall_ = kWall;
  for (const bool last : {false, true}) try {
      start();
      // While launches are timed, this process leaves the device alone, so its share is not measured.
      out = {0, device_.lend(sets.memory, sets.size, sets.generation, request.memory)};
      if (!out.launch.ok()) break;
      const std::optional<double> worked = WorkerClock::processor_seconds(process_->pid());
      const auto asked = std::chrono::steady_clock::now();
      const Timed& timed = ask<Timed>(request);
      const std::chrono::duration<double, std::micro> waited = std::chrono::steady_clock::now() - asked;
      out.us = timed.us;
      out.waited_us = waited.count();
      out.only_last = !subject_.command.words.empty();  // an interpreter, which copies results late
      if (const auto now = WorkerClock::processor_seconds(process_->pid()); worked && now)
        out.processor_us = (*now - *worked) * 1e6;
      const bool spoilt = timed.spoilt != 0, no_memory = timed.no_memory != 0;
      if (const std::string fault = timed.fault.plain(); !fault.empty())
        out.launch =
            no_memory && !spoilt
                ? lost_for_want(FaultKind::memory, "memory: " + fault)
                : LaunchOutcome{
                      fault, spoilt ? Ended::crashed : Ended::fault, {}, 0, fault_kind_of(timed.kind)};
      else if (!(out.us > 0) || out.us > waited.count())
        out.launch = {
            fmt::format("its process says that {} launches took {:.6g} us, and answered after {:.6g} us",
                        launches.count, out.us, waited.count()),
            Ended::fault};
      if (spoilt) drop_worker();
      break;
    } catch (const Failure& f) {
      out = {0, f.outcome()};
      if (!f.from_outside || last) break;
    } catch (const EnvironmentError& e) {
      // No worker could be started: that says nothing of the kernel.
      out = {0, lost_for_want(FaultKind::other, e.what())};
      break;
    } catch (const InputError& e) {
      out = {0, {e.what(), Ended::fault}};
      break;
    }
  return out;
}

void Supervisor::forget_sets() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!process_) return;
  Time request;
  try {
    ask<Timed>(request);
  } catch (const Failure&) {
    // The worker is gone, and has nothing open.
  }
}

}  // namespace assay::isolation

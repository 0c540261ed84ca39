// SPDX-License-Identifier: Apache-2.0
// The launches of a supervisor: images go into shared memory, the request is sent, images come out again.
// Also what changes after that.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <system_error>
#include <thread>
#include <utility>

#include "kernels/device.hpp"
#include "kernels/isolation/process/warm_process.hpp"
#include "kernels/isolation/shared/arena.hpp"
#include "kernels/isolation/supervisor.hpp"
#include "reference/error.hpp"

namespace assay::isolation {
namespace {

/// From this many rows on, a launch on the host executor may take longer than usual.
constexpr std::int64_t kManyRows = 1 << 14;

/// How long to wait for what a kernel left running to end or to change its outputs: kFirstWait in the first 4
/// such launches, kWait up to the 64th, and from then on kWait in every 16th. So a pool of threads that stays
/// costs only these waits.
constexpr auto kFirstWait = std::chrono::milliseconds(40), kWait = std::chrono::milliseconds(2);
constexpr std::uint64_t kFirst = 4, kMost = 64, kSometimes = 16;
/// Outputs of at most this many bytes are compared once more when the next launch begins.
constexpr std::uint64_t kRemembered = std::uint64_t{1} << 20,
                        kRememberedOfBystanders = std::uint64_t{64} << 20;

/// The slot of the launch's n-th images.
int slot_of(const Launch& request, int n) { return request.count == 2 ? n : request.slot; }

std::string late(const char* buffer) {
  return fmt::format("the {} changed after the launch had ended", buffer);
}

}  // namespace

std::string changed_late(int buffer) { return late(kBufferNames[static_cast<std::size_t>(buffer)]); }

Launch Supervisor::request_of(std::uint32_t entry, bool on_device, const Variant& variant,
                              const Problem& problem, const LaunchOptions& options) const {
  Launch request;
  request.entry = entry;
  request.slot = options.slot ? 1 : 0;
  request.on_device = on_device;
  request.in_place = options.in_place;
  request.delayed_producer = options.delayed_producer;
  request.normalizer = variant.writes_normalizer || problem.op == Op::normalizer;
  request.default_stream = !variant.own_stream;
  request.turns = options.turns;
  request.turn_patience = std::min(1.0, patience() / 10);
  request.schedule = options.schedule;
  request.max_blocks = options.max_blocks;
  request.problem = problem;
  return request;
}

Outcomes Supervisor::launch(std::uint32_t entry, bool on_device, const Variant& variant,
                            const Problem& problem, const std::vector<Images*>& images,
                            const LaunchOptions& options) {
  Outcomes outcomes;
  std::shared_ptr<DiedTogether> died;
  if (on_device && images.size() == 1 &&
      launch_in_batch(entry, variant, problem, *images[0], options, outcomes[0], died))
    return outcomes;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!LaunchesWhile::go_on()) return {not_made(), not_made()};
  const auto begun = std::chrono::steady_clock::now();
  const auto all = [&](const LaunchOutcome& o) { outcomes = {o, o}; };
  if (!caller().workspace_failure.ok()) {
    all(std::exchange(caller().workspace_failure, {}));
  } else {
    std::string earlier;
    bool again = true;
    for (const bool last : {false, true}) {
      if (!std::exchange(again, false)) break;
      Launch request = request_of(entry, on_device, variant, problem, options);
      request.count = static_cast<std::int32_t>(images.size());
      outcomes = {};
      try {
        if (of_parts_) drop_worker();
        start();
        on_device_ = on_device;
        await_context();
        elements_ = problem.rows * (on_device ? problem.V : std::max<std::int64_t>(problem.V, 1024));
        earlier = changed_since_last();
        // One fiber per thread: 65,536 blocks of 256 threads take the executor ten seconds on an idle core.
        if (!on_device && problem.rows > kManyRows)
          allowed_ = patience() * (1 + static_cast<double>(problem.rows) / kManyRows);
        if (subject_.first_times > 1 && first_of_its_shape(entry, problem, *images[0]))
          allowed_ = std::max(allowed_, first_patience());
        again = on_device ? launch_on_device(request, variant, images, options, last, outcomes)
                          : launch_on_host(request, variant, images, options.page_end, last, outcomes);
        launched_ = true;
        look_at_files();
      } catch (const Failure& f) {
        all(f.outcome());
      } catch (const InputError& e) {
        all({e.what(), Ended::fault});
      } catch (const std::bad_alloc&) {
        all(lost_for_want(FaultKind::memory, "memory: there is not enough to share with a worker"));
      }
      allowed_ = 0;
      elements_ = -1;
      on_device_ = false;
    }
    if (!earlier.empty() && outcomes[0].late_write.empty()) outcomes[0].late_write = earlier;
  }
  for (const LaunchOutcome& o : outcomes)
    if (o.ended == Ended::lost) caller().disturbance.lost = o;
  after_batch(died, outcomes[0]);
  for (LaunchOutcome& o : outcomes) o.took = std::chrono::steady_clock::now() - begun;
  return outcomes;
}

bool Supervisor::launch_on_host(Launch& request, const Variant& variant, const std::vector<Images*>& images,
                                bool page_end, bool last, Outcomes& outcomes) {
  for (int n = 0; n < request.count; ++n) {
    const int slot = slot_of(request, n);
    const auto buffers = buffers_of(*images[static_cast<std::size_t>(n)]);
    for (int b = 0; b < kBuffers; ++b) {
      const Image& image = *buffers[static_cast<std::size_t>(b)];
      Placement& p = placements_[slot][b];
      p = place(image, page_end, alignment_of(variant, request.problem, b), kPage);
      request.slices[slot][b] = p.slice;
      arena_->put(slot, b, image, p);
    }
  }
  bool bystanders = true;
  expect_shared(request);
  try {
    const Done& done = ask<Done>(request);
    bystanders = done.others != 0;
    outcomes[0].dispatch = done.dispatch;
    for (std::size_t n = 0; n < 2; ++n)
      if (std::string fault = done.fault[n].plain(); !fault.empty())
        outcomes[n] = {fault, Ended::fault, {}, 0, fault_kind_of(done.kind[n])};
  } catch (const Failure& f) {
    // The images have not changed.
    if (f.from_outside && !last) return true;
    outcomes = {f.outcome(), f.outcome()};
  }
  take(images, request, outcomes);
  if (!process_) return false;
  if (bystanders) try {
      wait_for_bystanders();
    } catch (const Failure& f) {
      // Something that it left running ended the worker.
      outcomes = {f.outcome(), f.outcome()};
      return false;
    }
  for (int n = 0; n < request.count; ++n)
    outcomes[static_cast<std::size_t>(n)].late_write =
        changed(*images[static_cast<std::size_t>(n)], slot_of(request, n));
  remember(images, request, bystanders ? kRememberedOfBystanders : kRemembered);
  return false;
}

void Supervisor::wait_for_bystanders() {
  if (++with_bystanders_ > kMost && with_bystanders_ % kSometimes != 0) return;
  const auto end = std::chrono::steady_clock::now() + (with_bystanders_ <= kFirst ? kFirstWait : kWait);
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Settle request;
    if (!ask<Settled>(request).others) return;
  } while (std::chrono::steady_clock::now() < end);
}

void Supervisor::take(const std::vector<Images*>& images, const Launch& request, Outcomes& outcomes) {
  for (int n = 0; n < request.count; ++n) {
    const int slot = slot_of(request, n);
    const auto buffers = buffers_of(*images[static_cast<std::size_t>(n)]);
    LaunchOutcome& o = outcomes[static_cast<std::size_t>(n)];
    for (int b = 0; b < kBuffers; ++b)
      if (!arena_->take(slot, b, *buffers[static_cast<std::size_t>(b)], placements_[slot][b]) && o.ok())
        o = {fmt::format("wrote far before the {}: beyond their guard band",
                         kBufferNames[static_cast<std::size_t>(b)]),
             Ended::fault,
             {},
             0,
             FaultKind::wild_access};
  }
}

std::string Supervisor::changed(Images& images, int slot) {
  const auto buffers = buffers_of(images);
  for (int b = 0; b < kBuffers; ++b) {
    const Image& image = *buffers[static_cast<std::size_t>(b)];
    if (!image.empty() && !arena_->same(slot, b, image.data(), placements_[slot][b]))
      return late(kBufferNames[static_cast<std::size_t>(b)]);
  }
  return {};
}

void Supervisor::remember(const std::vector<Images*>& images, const Launch& request, std::uint64_t most) {
  std::uint64_t total = 0;
  for (int n = 0; n < request.count; ++n)
    for (int b = 0; b < kBuffers; ++b) total += placements_[slot_of(request, n)][b].stored;
  if (total > most) return;
  for (auto& slot : remembered_)
    for (auto& bytes : slot) bytes.clear();
  for (int n = 0; n < request.count; ++n) {
    const int slot = slot_of(request, n);
    const auto buffers = buffers_of(*images[static_cast<std::size_t>(n)]);
    for (int b = 0; b < kBuffers; ++b) {
      const std::byte* from = buffers[static_cast<std::size_t>(b)]->data();
      if (const std::uint64_t stored = placements_[slot][b].stored; stored > 0)
        remembered_[slot][b].assign(from, from + stored);
    }
  }
  remembers_ = true;
}

std::string Supervisor::changed_since_last() {
  if (!std::exchange(remembers_, false)) return {};
  for (int slot = 0; slot < kSlots; ++slot)
    for (int b = 0; b < kBuffers; ++b) {
      const auto& bytes = remembered_[slot][b];
      if (!bytes.empty() && !arena_->same(slot, b, bytes.data(), placements_[slot][b]))
        return late(kBufferNames[static_cast<std::size_t>(b)]) + " (the launch before this one)";
    }
  return {};
}

LaunchOutcome Supervisor::refused_memory(const std::string& fault, std::uint64_t problem) {
  // If memory comes back when the worker ends, the kernel itself had used it up.
  // An earlier worker that is just ending is not this one.
  if (ending_.valid()) ending_.get();
  drop_spare();
  const std::uint64_t before = device_.free_bytes();
  drop_worker();
  const std::uint64_t after = device_.free_bytes(), all = device_.all_bytes();
  if (after > before && after - before > all / 4)
    return {fmt::format("{}: its own process held {:.1f} GiB of the device's memory", fault,
                        static_cast<double>(after - before) / 0x1p30),
            Ended::fault};
  // Nobody else holds much memory, and the problem needs little of it: no machine has as much as was asked
  // for.
  if (after > all / 2 && after / 8 > problem) {
    caller().disturbance.doubtful = true;
    return {fmt::format("{}: it asked for more than the {:.1f} GiB that were free, for {:.2g} GiB of rows",
                        fault, static_cast<double>(after) / 0x1p30, static_cast<double>(problem) / 0x1p30),
            Ended::fault,
            {},
            0,
            FaultKind::memory};
  }
  return lost_for_want(FaultKind::memory, "memory: the device has none left: " + fault);
}

bool Supervisor::launch_on_device(Launch& request, const Variant& variant, const std::vector<Images*>& images,
                                  const LaunchOptions& options, bool last, Outcomes& outcomes) {
  const auto all = [&](const LaunchOutcome& o) { outcomes = {o, o}; };
  std::vector<int> descriptors;
  if (const LaunchOutcome o = device_.put(request, variant, images, options, descriptors); !o.ok()) {
    all(o);
    return false;
  }
  bool spoilt = false;
  try {
    const Done& done = ask<Done>(request, descriptors);
    spoilt = done.spoilt != 0;
    const bool no_memory = done.no_memory != 0;
    for (std::size_t n = 0; n < 2; ++n)
      if (std::string fault = done.fault[n].plain(); !fault.empty())
        outcomes[n] = {fault, spoilt ? Ended::crashed : Ended::fault, {}, 0, fault_kind_of(done.kind[n])};
    if (no_memory && !spoilt) {
      std::uint64_t problem = 0;
      for (Images* const i : images)
        for (const Image* image : buffers_of(*i)) problem += image->size();
      all(refused_memory(!outcomes[0].ok() ? outcomes[0].fault : outcomes[1].fault, problem));
      return false;
    }
  } catch (const Failure& f) {
    // The images have not changed.
    if (f.from_outside && !last) return true;
    all(f.outcome());
  }
  if (const LaunchOutcome o = device_.take(request, images); !o.ok()) all(o);
  if (spoilt) drop_worker();
  if (!process_) return false;
  // Once the worker has settled, all that the kernel put on other streams has ended.
  try {
    Settle request_settle;
    request_settle.on_device = 1;
    const Settled& settled = ask<Settled>(request_settle);
    if (const std::string fault = settled.fault.plain(); !fault.empty()) {
      if (outcomes[0].ok()) all({fault, Ended::crashed, {}, 0, fault_kind_of(settled.kind)});
      if (settled.spoilt) drop_worker();
      return false;
    }
  } catch (const Failure& f) {
    all(f.outcome());
    return false;
  }
  for (int n = 0; n < request.count; ++n)
    if (const std::string buffer = device_.changed(request, n, *images[static_cast<std::size_t>(n)]);
        !buffer.empty())
      outcomes[static_cast<std::size_t>(n)].late_write = late(buffer.c_str());
  return false;
}

// Launches of a supervisor that the worker times. Only a number comes back, which this process's own clock
// bounds; what was computed lies in memory of this process.

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
  if (!caller().workspace_failure.ok()) return {0, std::exchange(caller().workspace_failure, {})};
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

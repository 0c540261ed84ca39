// SPDX-License-Identifier: Apache-2.0
// Launches in parts. The supervisor writes the given parts to where the worker sees them, and reads the
// wanted parts. It does not look at the rest of the buffers.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <set>
#include <utility>

#include "kernels/isolation/shared/arena.hpp"
#include "kernels/isolation/supervisor.hpp"
#include "reference/error.hpp"

namespace assay::isolation {
namespace {

/// The value of the bytes behind an output's last byte, up to the end of its page.
constexpr std::byte kTail{0xff};

std::uint64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;)
    if (word == "MemAvailable:") {
      std::uint64_t kib = 0;
      file >> kib;
      return kib * 1024;
    }
  return 0;
}

std::vector<std::byte> pattern(const PartBuffer& b, std::uint64_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) all[i] = static_cast<std::byte>(b.fill >> 8 * (i % b.element));
  return all;
}

void no_memory(PartOutcome& outcome, std::string why) {
  outcome.no_room = std::move(why);
  outcome.wants = FaultKind::memory;
}

/// Lists the windows of the logits that hold a given part. False if there are too many.
bool own_windows(const PartBuffer& b, Windows& windows) {
  std::set<std::uint64_t> own;
  for (const BufferPart& p : b.given)
    for (std::uint64_t w = p.at / kWindow; w * kWindow < p.at + p.bytes.size(); ++w) own.insert(w);
  if (own.size() > kOwn) return false;
  windows.repeated = 1;
  for (const std::uint64_t w : own) windows.own[windows.count++] = static_cast<std::uint32_t>(w);
  return true;
}

}  // namespace

PartOutcome Supervisor::launch_parts(std::uint32_t entry, bool on_device, const Variant& variant,
                                     const Problem& problem, PartBuffers& buffers,
                                     const PartOptions& options) {
  const std::lock_guard<std::mutex> lock(mutex_);
  PartOutcome outcome;
  if (!LaunchesWhile::go_on()) {
    outcome.launch = not_made();
    return outcome;
  }
  if (!caller().workspace_failure.ok()) {
    outcome.launch = std::exchange(caller().workspace_failure, {});
    return outcome;
  }
  if (options.rows.size() > kChosenRows) {
    outcome.no_room = "executor: too many rows are chosen";
    return outcome;
  }
  Launch request = request_of(entry, on_device, variant, problem, {});
  request.chosen.per_block = options.rows_per_block;
  for (const std::int64_t row : options.rows) request.chosen.rows[request.chosen.count++] = row;
  const Launch asked = request;

  for (const bool last : {false, true}) {
    request = asked;
    outcome = {};
    // Such buffers may need all of the device's memory: no other worker has a context meanwhile.
    if (ending_.valid()) ending_.get();
    drop_spare();
    restarts_ = false;
    // What the previous attempt left is freed together with the worker and the arena.
    if (!options.keeps_worker || !of_parts_) {
      drop_worker();
      device_.free_all();
    }
    bool again = false;
    try {
      start();
      on_device_ = on_device;
      await_context();
      allowed_ = std::max(times_ * options.seconds, subject_.first_times > 1 ? first_patience() : 0);
      if (on_device)
        parts_on_device(request, buffers, outcome);
      else
        parts_on_host(request, buffers, outcome);
    } catch (const Failure& f) {
      outcome.launch = f.outcome();
      again = f.from_outside;
    } catch (const InputError& e) {
      outcome.launch = {e.what(), Ended::fault};
    } catch (const std::bad_alloc&) {
      no_memory(outcome, "memory: there is not enough to share with a worker");
    }
    allowed_ = 0;
    on_device_ = false;
    // After a fault the context may be lost.
    if (options.keeps_worker && process_ && (!on_device || outcome.launch.ok())) {
      if (!on_device) arena_->clear();
      of_parts_ = true;
    } else {
      drop_worker();
      arena_.reset();
      device_.free_all();
    }
    if (!again || last) break;
  }
  if (outcome.wants == FaultKind::memory) caller().disturbance.doubtful = true;
  if (outcome.launch.ended == Ended::lost) caller().disturbance.lost = outcome.launch;
  return outcome;
}

void Supervisor::parts_on_host(Launch& request, PartBuffers& buffers, PartOutcome& outcome) {
  std::uint64_t touched = 0;
  bool all_there = true;
  for (int b = 0; b < kBuffers; ++b) {
    PartBuffer& buffer = buffers[static_cast<std::size_t>(b)];
    if (buffer.payload == 0) continue;
    const std::uint64_t mapped = rounded_up(buffer.payload, kPage);
    // The last quarter of a region stays unmapped. An offset that wraps and points below the next buffer ends
    // there.
    if (mapped > kRegion / 4 * 3) {
      no_memory(outcome, "memory: a buffer is larger than what a worker shares");
      return;
    }
    request.slices[0][b] = {mapped, 0, buffer.payload};
    const auto put = [&](std::uint64_t at, const std::vector<std::byte>& bytes) {
      all_there = all_there && arena_->write(0, b, at, bytes.data(), bytes.size());
    };
    if (b == 0 && buffer.fill != 0) {
      if (!own_windows(buffer, request.windows)) {
        no_memory(outcome, "memory: the logits have too many parts");
        return;
      }
      const std::vector<std::byte> window = pattern(buffer, kWindow);
      put(rounded_up(mapped, kWindow), window);
      for (std::uint32_t i = 0; i < request.windows.count; ++i) put(request.windows.own[i] * kWindow, window);
    }
    if (b > 0) {
      for (const BufferPart& p : buffer.wanted) put(p.at, pattern(buffer, p.bytes.size()));
      if (request.chosen.count == 0) touched += mapped;
    }
    for (const BufferPart& p : buffer.given) put(p.at, p.bytes);
    put(buffer.payload, std::vector<std::byte>(mapped - buffer.payload, kTail));
  }
  if (const std::uint64_t have = available_bytes(); !all_there || touched + touched / 4 > have) {
    no_memory(outcome, fmt::format("memory: {:.1f} GiB are needed, {:.1f} are free",
                                   static_cast<double>(touched + touched / 4) / 0x1p30,
                                   static_cast<double>(have) / 0x1p30));
    return;
  }
  const auto asked = std::chrono::steady_clock::now();
  expect_shared(request);
  try {
    const Done& done = ask<Done>(request);
    if (done.refused) outcome.no_room = "executor: the plugin does not choose blocks (assay_executor_rows)";
    if (std::string fault = done.fault[0].plain(); !fault.empty())
      outcome.launch = {fault, Ended::fault, {}, 0, fault_kind_of(done.kind[0])};
  } catch (const Failure& f) {
    if (f.from_outside) throw;
    outcome.launch = f.outcome();
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count();
  for (int b = 0; b < kBuffers; ++b) {
    PartBuffer& buffer = buffers[static_cast<std::size_t>(b)];
    if (buffer.payload == 0) continue;
    for (BufferPart& p : buffer.wanted) arena_->read(0, b, p.at, p.bytes.data(), p.bytes.size());
    std::vector<std::byte> tail(rounded_up(buffer.payload, kPage) - buffer.payload);
    arena_->read(0, b, buffer.payload, tail.data(), tail.size());
    if (outcome.guard.empty() &&
        std::any_of(tail.begin(), tail.end(), [](std::byte t) { return t != kTail; }))
      outcome.guard =
          fmt::format("bytes after the {} were overwritten", kBufferNames[static_cast<std::size_t>(b)]);
  }
}

void Supervisor::parts_on_device(Launch& request, PartBuffers& buffers, PartOutcome& outcome) {
  if (const LaunchOutcome o = device_.put_parts(request, buffers); !o.ok()) {
    if (o.kind == FaultKind::memory)
      no_memory(outcome, o.fault);
    else
      outcome.launch = o;
    return;
  }
  const auto asked = std::chrono::steady_clock::now();
  try {
    const Done& done = ask<Done>(request);
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count();
    const bool spoilt = done.spoilt != 0;
    if (std::string fault = done.fault[0].plain(); !fault.empty())
      outcome.launch = {fault, spoilt ? Ended::crashed : Ended::fault, {}, 0, fault_kind_of(done.kind[0])};
    if (done.no_memory && !spoilt) {
      // Problems this large may well need more memory than there is.
      outcome.launch = refused_memory(outcome.launch.fault, device_.all_bytes());
      return;
    }
    Settle settle;
    settle.on_device = 1;
    if (!spoilt)
      if (std::string fault = ask<Settled>(settle).fault.plain(); !fault.empty() && outcome.launch.ok())
        outcome.launch = {fault, Ended::crashed};
  } catch (const Failure& f) {
    if (f.from_outside) throw;
    outcome.launch = f.outcome();
  }
  if (const LaunchOutcome o = device_.take_parts(request, buffers, outcome.guard); !o.ok())
    outcome.launch = o;
}

}  // namespace assay::isolation

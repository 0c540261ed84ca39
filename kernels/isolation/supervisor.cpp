// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/supervisor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "kernels/isolation/loaded/loaded_files.hpp"
#include "kernels/isolation/shared/memory_limit.hpp"
#include "reference/error.hpp"

namespace assay::isolation {

std::uint32_t Supervisor::load() {
  const std::lock_guard<std::mutex> lock(mutex_);
  try {
    start_any();
  } catch (const Failure& f) {
    throw EnvironmentError(fmt::format("{}: its worker was lost while it was loaded: {}", shown(), f.text));
  }
  return description_ ? static_cast<std::uint32_t>(description_->entries.size()) : entries_;
}

Described Supervisor::describe(std::uint32_t entry) const { return description_->entries.at(entry); }

std::uint64_t Supervisor::workspace_bytes(std::uint32_t entry, bool on_device, const Problem& p) {
  const std::array<std::int64_t, 11> key = {entry,
                                            static_cast<std::int64_t>(p.op),
                                            static_cast<std::int64_t>(p.in),
                                            static_cast<std::int64_t>(p.out),
                                            p.rows,
                                            p.V,
                                            p.in_pitch,
                                            p.out_pitch,
                                            std::bit_cast<std::int32_t>(p.scale),
                                            p.k,
                                            std::bit_cast<std::int32_t>(p.threshold)};
  {
    // Others may be launching, which takes long.
    const std::lock_guard<std::mutex> known_lock(workspaces_mutex_);
    if (const auto known = workspaces_.find(key); known != workspaces_.end()) return known->second;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  Workspace request;
  request.entry = entry;
  request.problem = p;
  const std::uint64_t most = on_device ? std::uint64_t{1} << 38 : kRegion / 2;
  for (const bool last : {false, true}) try {
      start();
      const Needs& needs = ask<Needs>(request);
      const std::uint64_t bytes = needs.bytes;
      caller().workspace_failure = {needs.fault.plain(), Ended::crashed};
      if (bytes > most)
        caller().workspace_failure = {fmt::format("workspace_bytes: asks for {} bytes", bytes),
                                      Ended::crashed};
      if (caller().workspace_failure.ok()) {
        const std::lock_guard<std::mutex> known_lock(workspaces_mutex_);
        return workspaces_[key] = bytes;
      }
      break;
    } catch (const Failure& f) {
      if (f.from_outside && !last) continue;
      caller().workspace_failure =
          f.ended == Ended::lost ? f.outcome()
                                 : LaunchOutcome{"workspace_bytes: " + f.text, Ended::crashed, {}, 0, f.kind};
      break;
    } catch (const InputError& e) {
      caller().workspace_failure = {e.what(), Ended::crashed};
      break;
    }
  return 0;
}

void Supervisor::restart() {
  const std::lock_guard<std::mutex> lock(mutex_);
  restarts_ = restarts_ || process_;
  // A context on a device takes long to end. Nothing of the next worker waits for it.
  if (process_ && spare_.process) {
    look_last();
    ending_ = std::async(std::launch::async,
                         [before = std::move(ending_), p = std::move(process_)]() mutable { p.reset(); });
  }
  drop_worker();
}

std::vector<LoadedFile> Supervisor::loaded_files() const {
  return subject_.plugin ? LoadedFiles::of(subject_.name).all() : std::vector<LoadedFile>();
}

void Supervisor::look_at_files() {
  if (looked_at_ && std::has_single_bit(++launches_)) LoadedFiles::of(subject_.name).look(process_->pid());
}

void Supervisor::look_last() {
  if (std::exchange(looked_at_, false)) LoadedFiles::of(subject_.name).end(process_->pid());
  launches_ = 0;
}

void Supervisor::drop_worker() {
  look_last();
  process_.reset();
  device_.forget_worker();
  remembers_ = of_parts_ = launched_ = ready_ = false;
  shapes_.clear();
}

Disturbance Supervisor::disturbance() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(caller().disturbance, {});
}

void Supervisor::be_patient(double times) {
  const std::lock_guard<std::mutex> lock(mutex_);
  times_ = times;
  hung_ = false;
}

double Supervisor::patience() const {
  // Launches of a right kernel take a thousandth of this or less. The first one of a worker on a device may
  // compile a module that was not made for this GPU, or start libraries; on the executor a block has up to
  // 1,024 fibers, however short its row.
  constexpr double kLeast = 3, kLeastOnDevice = 2, kFirst = 10, kFirstOfItsOwn = 5, kOfAnElement = 10e-6,
                   kOnDevice = 2e-6;
  if (allowed_ > 0) return allowed_;
  const double least = !on_device_                       ? kLeast
                       : launched_                       ? kLeastOnDevice
                       : ready_ && options_.made_for_gpu ? kFirstOfItsOwn
                                                         : kFirst;
  double usual = times_ * options_.timeout_seconds;
  if (elements_ >= 0 && options_.timeout_seconds == kUsualTimeout)
    usual = times_ * std::min(kUsualTimeout, least + (on_device_ ? kOnDevice : kOfAnElement) *
                                                         static_cast<double>(elements_));
  // A kernel that has hung once will hang again: the rest of its cases is not worth the full wait each time.
  // The next worker gets its usual time to begin, before any launch.
  return hung_ && times_ <= 1 && elements_ >= 0 ? std::min(usual, std::max(1.0, 20 * slowest_)) : usual;
}

void Supervisor::await_context() {
  if (!on_device_ || ready_ || !begins_ahead()) return;
  Settle request;
  request.on_device = 1;
  ready_ = ask<Settled>(request).fault.plain().empty();
}

double Supervisor::first_patience() const {
  if (subject_.first_times <= 1) return patience();
  const double most = std::min(times_, 1.0) * subject_.first_times * options_.timeout_seconds;
  // By the time it hangs, it is known what it has compiled and how long that took.
  return std::max(patience(), hung_ ? std::min(most, 20 * slowest_) : most);
}

bool Supervisor::first_of_its_shape(std::uint32_t entry, const Problem& p, const Images& images) {
  return shapes_
      .insert({entry, static_cast<std::int64_t>(p.op), p.rows, p.V, p.in_pitch, p.out_pitch, p.k,
               std::bit_cast<std::int32_t>(p.threshold), static_cast<std::int64_t>(images.logits.offset()),
               static_cast<std::int64_t>(images.probs.offset())})
      .second;
}

/// In seconds, so that even a worker with a thirtieth of a processor, or of a device, gets its time.
double Supervisor::on_the_wall() const {
  return wall_ > 0 ? wall_ : std::max(60.0, 30 * options_.timeout_seconds);
}

Process::Patience Supervisor::waiting() {
  const double patient = patience();
  Process::Patience p{patient, patient + on_the_wall()};
  if (on_device_) p.share = [this] { return device_.share(); };
  p.excess = [this] { return excess(); };
  return p;
}

/// Memory that is nearly used up makes everything slow, and the operating system may take long to give more.
std::string Supervisor::much_memory() const {
  const std::int64_t held = own_memory(process_->pid());
  // What it holds is no longer among what is left.
  return 2 * held >= most_memory() ? fmt::format("; it held {} MiB of memory", held) : std::string();
}

void Supervisor::lose(Process::Heard heard) {
  Failure f;
  const auto [allowed, at_most, share, too_much] = waiting();
  const char* const shortened = hung_ && allowed < times_ * options_.timeout_seconds
                                    ? " (it hung before, so it gets less than --timeout)"
                                    : "";
  switch (heard) {
    case Process::Heard::late:
      f = {fmt::format("nothing came back within {:.3g} s{}{}", allowed, shortened, much_memory()),
           Ended::hung, FaultKind::no_answer};
      hung_ = true;
      break;
    case Process::Heard::suspended:
      f = {fmt::format("nothing came back within {:.3g} s, {}", std::min(allowed, Process::kStoppedSeconds),
                       kStoppedBySignal),
           Ended::hung, FaultKind::stopped, true};
      break;
    case Process::Heard::starved:
      f = {fmt::format("time: of {:.3g} s the worker could not use {:.3g}", at_most, allowed), Ended::lost,
           FaultKind::time};
      break;
    case Process::Heard::gone:
      look_last();  // its number may be another process's afterwards
      f.text = process_->death();
      f.kind = process_->death_kind();
      if (process_->signal()) f.text += where(*process_->signal(), f.access);
      f.from_outside = process_->killed();
      break;
    case Process::Heard::excessive:
      f.text = excess();
      break;
    case Process::Heard::message:
      f.text = "sent bytes of its own to the supervisor";
  }
  if (f.from_outside) look_at_conduct(f);
  f.text += process_->last_words();
  // A worker that has stopped itself is looked at no more: the case passes in every other call.
  const bool own_stop = heard == Process::Heard::suspended && !f.from_outside;
  if ((f.ended == Ended::hung && !own_stop) || f.from_outside) {
    caller().disturbance.doubtful = true;
    if (caller().disturbance.saw.empty()) caller().disturbance.saw = f.text;
  }
  if (heard == Process::Heard::late && !on_device_) caller().disturbance.own_seconds = allowed;
  drop_worker();
  if (f.ended == Ended::lost && on_device_ && device_.waits_for_worker()) {
    // The device became free when the worker ended, so nobody else was using it.
    f = {fmt::format("nothing came back within {:.3g} s, although the device had no other work", at_most),
         Ended::hung};
    caller().disturbance.doubtful = true;
  }
  throw f;
}

std::string Supervisor::where(const Signal& s, std::optional<BufferAccess>& at) const {
  const char* access = s.access < 0 ? "an access" : s.access ? "a write" : "a read";
  if (s.sent)
    return s.sent == 1 ? ", and it raised the signal itself" : ", and another process sent the signal";
  if (s.number != SIGSEGV && s.number != SIGBUS) return {};
  if (s.address < 65536) return fmt::format(": {} at address {:#x}, near a null pointer", access, s.address);
  for (int slot = 0; slot < kSlots; ++slot)
    for (int b = 0; b < kBuffers; ++b) {
      const std::uint64_t begin = base_ + region(slot, b);
      if (s.address < begin || s.address - begin >= kRegion) continue;
      const Slice& slice = placements_[slot][b].slice;
      const char* name = kBufferNames[static_cast<std::size_t>(b)];
      if (slice.mapped == 0)
        return fmt::format(
            ": {} at the place of the {}, which this problem does not "
            "have",
            access, name);
      const auto byte = static_cast<std::int64_t>(s.address - begin - slice.payload_at);
      // An address in the last quarter of a region was meant to be in front of the next buffer.
      if (byte > static_cast<std::int64_t>(kRegion / 4 * 3))
        return fmt::format(": {} {} bytes before the {}", access, kRegion - (s.address - begin),
                           b + 1 < kBuffers ? kBufferNames[static_cast<std::size_t>(b) + 1] : "next buffer");
      if (byte < 0) return fmt::format(": {} {} bytes before the {}", access, -byte, name);
      at = {s.access == 0, b == 0, byte, static_cast<std::int64_t>(slice.payload)};
      return fmt::format(": {} at byte {} of the {}, which have {}", access, byte, name, slice.payload);
    }
  return fmt::format(": {} at address {:#x}", access, s.address);
}

}  // namespace assay::isolation

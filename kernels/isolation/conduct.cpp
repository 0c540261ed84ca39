// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kernels/isolation/supervisor.hpp"
#include "reference/error.hpp"

namespace assay::isolation {
namespace {

struct Ends {
  std::mutex mutex;
  std::map<std::string, int> of;
};
Ends& ends() {
  static Ends all;
  return all;
}

}  // namespace

int count_unexplained_end(const std::string& kernel) {
  const std::lock_guard<std::mutex> lock(ends().mutex);
  return ++ends().of[kernel];
}

void forget_unexplained_ends() {
  const std::lock_guard<std::mutex> lock(ends().mutex);
  ends().of.clear();
}

/// What a worker does beside its launches, and what all workers of a file must have in common.
void Supervisor::look_at_conduct(Failure& f) {
  const bool stopped = f.ended == Ended::hung;
  if (!process_->unexplained() || count_unexplained_end(subject_.name) <= kMostUnexplainedEnds) return;
  const std::string how = stopped ? "stopped" : "ended", by = stopped ? "a signal" : process_->killer(),
                    often = fmt::format("in more than {} launches", kMostUnexplainedEnds);
  if (process_->alone()) {
    f.text = stopped ? fmt::format("{}, its own, {}", kStoppedBySignal, often)
                     : fmt::format("ended its own process by {} {}", by, often);
    f.from_outside = false;
  } else {
    caller().disturbance.lost = lost_for_want(
        FaultKind::died,
        fmt::format("its process was {} by {} {}: by itself or by another one", how, by, often));
  }
}

void Supervisor::expect_shared(const Launch& request) {
  const std::int64_t before = arena_->expected();
  for (int slot = 0; slot < kSlots; ++slot)
    for (int b = 0; b < kBuffers; ++b) {
      const std::uint64_t mapped = request.slices[slot][b].mapped;
      // Behind the logits lies the window that is mapped again and again.
      const bool repeated = request.windows.repeated && slot == 0 && b == 0;
      arena_->expect(slot, b, repeated ? rounded_up(mapped, kWindow) + kWindow : mapped);
    }
  if (arena_->expected() > before) process_->expects_shared(arena_->expected());
}

/// Memory that a worker touches is counted by the warden. What it maps of the arena, and no longer maps, is
/// counted by nobody else.
std::string Supervisor::excess() const {
  if (arena_ && arena_->excess() > 0)
    return fmt::format("took {} MiB of the memory that the launch shares, beside its buffers",
                       arena_->excess());
  return {};
}

void Supervisor::look_at_description(std::uint32_t count) {
  if (!subject_.plugin) return;
  std::vector<Described> entries(std::min(count, kMostEntries));
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    Describe request;
    request.entry = i;
    entries[i] = ask<Described>(request);
  }
  const auto now = std::make_shared<const Description>(std::move(entries));
  std::vector<std::string> command = subject_.command.words;
  // Of a callable: its words and the bytes of its file.
  command.push_back(std::to_string(subject_.command.library));
  description_ = first_description(subject_.name, opened_ ? opened_->sha256() : std::string(), command, now);
  if (description_->sha256 != now->sha256)
    two_faced_ = shown() + ": says something else of itself when it is loaded again";
}

void Supervisor::require_unchanged() const {
  if (opened_ && !parent_->loads_copy() && opened_->changed())
    throw InputError(shown() + ": was changed while it was judged");
}

}  // namespace assay::isolation

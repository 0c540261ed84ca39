// SPDX-License-Identifier: Apache-2.0
// Which row lengths V and addresses end the kernel's process. A new process costs a second on a GPU. So, of
// the cases that are like those that died, only some are launched. Also what hanging launches may cost in one
// check of a kernel, over all its groups and all runs of the search for a contract.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <unordered_set>

#include "accuracy/record.hpp"
#include "kernels/fault_kind.hpp"

namespace assay::conformance {

/// What one run has seen, over all threads. Example: a kernel has `assert(V % 4 == 0)`. After 16 deaths V =
/// 33 is launched in one case in 16 only, and later in fewer. V = 64 is always launched, because it is a
/// multiple of 4, as all lengths that live are. Second example: a kernel loads 16 bytes at once. It dies if
/// rows start at multiples of only 8 bytes, and lives if they start at multiples of 16. Then rows at
/// multiples of 4 or 8 bytes are left out.
class Deaths {
 public:
  static constexpr int kMost = 16;                                 // deaths before anything is left out
  static constexpr std::chrono::nanoseconds kTime{3'000'000'000};  // and the time that they must have taken
  /// After `deaths` deaths, one in this many of the cases like the dead ones is launched. The first launches
  /// show that the rule holds. Cases that a limit explains are run again within the limit, and there nothing
  /// is left out.
  static constexpr std::uint64_t one_in(int deaths) { return deaths < 24 ? 16 : deaths < 32 ? 64 : 1024; }

  /// Notes how a launch of rows of row length V ended, and how long it took. All rows start at multiples of
  /// `alignment` bytes, a power of two.
  void saw(std::int64_t V, std::int64_t alignment, bool died, std::chrono::nanoseconds took);
  /// Why such rows are not launched, if they are not. `which` tells apart the cases of one length.
  Obstacle leaves_out(std::int64_t V, std::int64_t alignment, std::uint64_t which) const;

 private:
  bool like_the_dead(std::int64_t V, std::int64_t alignment) const;

  mutable std::mutex mutex_;
  std::set<std::int64_t> alive_, dead_;
  std::int64_t divisor_ = 0;  // common divisor of all lengths that live
  // The largest alignment that died, and the smallest that lived.
  std::int64_t dead_alignment_ = 0, alive_alignment_ = std::numeric_limits<std::int64_t>::max();
  int deaths_ = 0;
  std::chrono::nanoseconds time_{0};
};

// A kernel that refuses a launch with an error is not wrong there.

/// True if the launch of the case itself was refused (kernels/fault_kind.hpp).
bool says_no(const Record& r);

/// Three cases show that a kernel hangs. From then on, hanging launches may take 2 seconds together; then
/// the rest is left. Launches that come back cost nothing here, so a kernel that hangs at some sizes is
/// judged at the others. A kernel that never answered is left at once after three hangs, or 6 crashes. Until
/// one launch has answered, the launches of cases are made one at a time.
class Hangs {
 public:
  static constexpr int kShown = 3, kMostCrashes = 6;
  static constexpr std::int64_t kMostNs = 2'000'000'000;

  /// A launch that hung, and how long it was waited for.
  void saw(std::chrono::nanoseconds took) {
    if (shown()) spent_ns_ += took.count();
    ++count_;
  }
  /// A launch that ended its process, in the current run of the search.
  /// `refused`: it ended in a way by which kernels and machines refuse a launch (says_no).
  void saw_crash(bool refused = false) {
    ++crashes_;
    if (refused)
      answered();
    else
      ++all_crashes_;
  }
  void forget_crashes() { crashes_ = 0; }
  bool crashed() const { return crashes_ > 0; }
  /// A launch of rows of this length that came back.
  void came_back(std::int64_t V) {
    const std::lock_guard<std::mutex> lock(mutex_);
    came_back_.insert(V);
  }
  bool has_come_back(std::int64_t V) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return came_back_.contains(V);
  }
  /// A launch that came back, or was refused.
  void answered() { answered_ = true; }
  bool has_answered() const { return answered_; }
  /// Held during a launch. It holds nothing once a launch has answered.
  std::unique_lock<std::mutex> turn() {
    std::unique_lock<std::mutex> lock(turn_, std::defer_lock);
    if (!answered_) lock.lock();
    if (answered_ && lock) lock.unlock();
    return lock;
  }
  bool shown() const { return count_ >= kShown; }
  bool over() const {
    return (shown() && (spent_ns_ >= kMostNs || !answered_)) || (!answered_ && all_crashes_ >= kMostCrashes);
  }
  /// What the rest is left for.
  std::string why() const;
  /// Nothing more is launched, if it is shown.
  void leave() { spent_ns_ = kMostNs; }
  int count() const { return count_; }

 private:
  std::atomic<int> count_{0}, crashes_{0}, all_crashes_{0};
  std::atomic<bool> answered_{false};
  std::atomic<std::int64_t> spent_ns_{0};
  mutable std::mutex mutex_;
  std::mutex turn_;
  std::unordered_set<std::int64_t> came_back_;
};

}  // namespace assay::conformance

// SPDX-License-Identifier: Apache-2.0
// What hanging launches may cost in one check of a kernel, over all its groups and all runs of the search for
// a contract.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <unordered_set>

namespace assay::conformance {

/// Three cases show that a kernel hangs. From then on, hanging launches may take 6 seconds together; then
/// the rest is left. Launches that come back cost nothing here, so a kernel that hangs at some sizes is
/// judged at the others.
class Hangs {
 public:
  static constexpr int kShown = 3;
  static constexpr std::int64_t kMostNs = 6'000'000'000;

  /// A launch that hung, and how long it was waited for.
  void saw(std::chrono::nanoseconds took) {
    if (shown()) spent_ns_ += took.count();
    ++count_;
  }
  /// A launch that ended its process, in the current run of the search.
  void saw_crash() { ++crashes_; }
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
  bool shown() const { return count_ >= kShown; }
  bool over() const { return shown() && spent_ns_ >= kMostNs; }
  /// Nothing more is launched, if it is shown.
  void leave() { spent_ns_ = kMostNs; }
  int count() const { return count_; }

 private:
  std::atomic<int> count_{0}, crashes_{0};
  std::atomic<std::int64_t> spent_ns_{0};
  mutable std::mutex mutex_;
  std::unordered_set<std::int64_t> came_back_;
};

}  // namespace assay::conformance

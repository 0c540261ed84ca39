// Which row lengths and addresses end the kernel's process. A new process costs a second on a GPU, so of the
// cases that are like those that died only some are launched.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <set>
#include <string>

namespace assay::conformance {

/// What one run has seen, over all threads. Example: `assert(V % 4 == 0)` in a kernel. After 16 deaths V = 33
/// is left out, but for one case in 16, and fewer later; V = 64, which is a multiple of 4 as all lengths that live are, is
/// always launched. Or: a kernel that loads 16 bytes at once dies where rows start at multiples of 8 bytes,
/// and everything that lives starts at multiples of 16: rows at multiples of 4 are left out.
class Deaths {
 public:
  static constexpr int kMost = 16;                                 // deaths that cost nothing
  static constexpr std::chrono::nanoseconds kTime{3'000'000'000};  // and what they may have taken
  /// Of the cases that are like the dead one in so many is launched after `deaths` deaths. The first shows
  /// that the rule holds; what a limit explains is run again within it, and nothing is left out there.
  static constexpr std::uint64_t one_in(int deaths) { return deaths < 24 ? 16 : deaths < 32 ? 64 : 1024; }

  /// How a launch of rows of V ended, and how long it took. All rows start at multiples of `alignment` bytes,
  /// a power of two.
  void saw(std::int64_t V, std::int64_t alignment, bool died, std::chrono::nanoseconds took);
  /// Why such rows are not launched; empty: they are. `which` tells the cases of a length apart.
  std::string leaves_out(std::int64_t V, std::int64_t alignment, std::uint64_t which) const;

 private:
  bool like_the_dead(std::int64_t V, std::int64_t alignment) const;

  mutable std::mutex mutex_;
  std::set<std::int64_t> alive_, dead_;
  std::int64_t divisor_ = 0;  // of all that are alive
  // The best aligned of the dead, the worst aligned of those alive.
  std::int64_t dead_alignment_ = 0, alive_alignment_ = std::numeric_limits<std::int64_t>::max();
  int deaths_ = 0;
  std::chrono::nanoseconds time_{0};
};

}  // namespace assay::conformance

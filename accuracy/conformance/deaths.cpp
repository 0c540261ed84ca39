// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/deaths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace assay::conformance {

void Deaths::saw(std::int64_t V, std::int64_t alignment, bool died, std::chrono::nanoseconds took) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (died) {
    dead_.insert(V);
    dead_alignment_ = std::max(dead_alignment_, alignment);
    ++deaths_;
    time_ += took;
  } else {
    alive_.insert(V);
    alive_alignment_ = std::min(alive_alignment_, alignment);
    divisor_ = std::gcd(divisor_, V);
  }
}

bool Deaths::like_the_dead(std::int64_t V, std::int64_t alignment) const {
  if (!alive_.empty() && dead_alignment_ < alive_alignment_ && alignment <= dead_alignment_) return true;
  if (alive_.contains(V)) return false;
  if (alive_.empty() || dead_.contains(V)) return true;
  // The length is like the dead ones if it is longer than all that live and such a one died; the same for
  // shorter; or if it is no multiple of the common divisor of those that live.
  if (V > *alive_.rbegin() && *dead_.rbegin() > *alive_.rbegin()) return true;
  if (V < *alive_.begin() && *dead_.begin() < *alive_.begin()) return true;
  return V % divisor_ != 0;
}

Obstacle Deaths::leaves_out(std::int64_t V, std::int64_t alignment, std::uint64_t which) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (deaths_ < kMost || time_ < kTime || which % one_in(deaths_) == 0 || !like_the_dead(V, alignment))
    return {};
  return obstacle(Why::not_tried, fmt::format("V = {}: {} launches like it ended the process", V, deaths_));
}

std::string Hangs::why() const {
  return shown() ? fmt::format("left, because {} launches of this kernel hung", count())
                 : fmt::format("left, because the first {} launches of this kernel crashed",
                               static_cast<int>(all_crashes_));
}

bool says_no(const Record& r) {
  const CheckResult* const first = first_failed(r);
  return first && first->check == Check::launch && !first->of_measurement && r.status != Status::hung &&
         assay::says_no(cause_of(r));
}

}  // namespace assay::conformance

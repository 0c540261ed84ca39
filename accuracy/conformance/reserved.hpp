// Buffers of many gigabytes that cost only the pages that are touched, and a process in which to touch the
// wrong ones.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "kernels/candidate.hpp"

namespace assay::conformance {

/// Zeroed address space between two stretches that no access survives. Shared with children: what they write
/// is seen here.
class Reserved {
 public:
  /// `shared` memory is for outputs: reading a page of it that was never written costs the page.
  Reserved(std::size_t bytes, bool shared);
  ~Reserved();
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;

  /// Null where the address space could not be had.
  std::byte* data() const { return data_; }

 private:
  std::byte* base_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t whole_ = 0;
};

/// Runs `work` in a child process. The fault it returns, how the child died, or that it did not end in time.
LaunchOutcome in_child(const std::function<std::string()>& work, double seconds);

}  // namespace assay::conformance

// SPDX-License-Identifier: Apache-2.0
// A second build of a file for the host, whose comparisons and branches are watched: with what constants does
// it compare something, and which of its branches did no input reach?
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/genome.hpp"
#include "kernels/registry.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {

class BranchWatch {
 public:
  /// Null if the target is no file that is compiled for the host, or the compiler can not watch it. Compiles.
  static std::unique_ptr<BranchWatch> of(const Target& target, Op op, double timeout_seconds);

  /// Launches the kernel on these inputs. Its outputs are not judged: the search judges the build that is
  /// certified.
  void run(const std::vector<fuzz::Genome>& inputs);

  struct Seen {
    std::int64_t reached = 0, all = 0;  // branches: stretches of code between jumps
    std::vector<double> logits;         // the constants as logits of the kernel's type, in order
  };
  /// Of all launches so far.
  Seen seen() const;

 private:
  BranchWatch(Variant kernel, Variant report, Op op);
  Variant kernel_, report_;
  Op op_;
};

/// What one constant of a comparison may be as a logit: its bits in the type, or its value. `size` as in
/// kernels/adapter/branches.cpp. No infinity and no NaN.
std::vector<double> as_logits(std::uint64_t bits, std::uint32_t size, Dtype dtype);

}  // namespace assay

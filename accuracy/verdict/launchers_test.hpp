// SPDX-License-Identifier: Apache-2.0
// A launcher of tests, in this process. A test says what one launch does.
#pragma once

#include <array>
#include <string>

#include "kernels/candidate.hpp"

namespace assay {

class HereLauncher : public Launcher {
 public:
  /// One after the other: one launch of a test does not disturb another.
  std::array<LaunchOutcome, 2> launch_both(const Variant& v, const Problem& p, std::array<Images*, 2> images,
                                           const LaunchOptions& o) override {
    return {launch(v, p, *images[0], o), launch(v, p, *images[1], o)};
  }
  std::string cannot(const LaunchOptions&) const override { return {}; }
  bool on_device() const override { return false; }
  void restart() override {}
};

}  // namespace assay

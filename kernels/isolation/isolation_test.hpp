// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of isolation: launches of the fixtures' kernels, and what these should have computed.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <vector>

#include "kernels/device.hpp"
#include "kernels/isolation/isolated.hpp"

namespace assay::isolation {

inline std::string fixture(const std::string& name) {
  return std::string(ASSAY_FIXTURES) + "/" + name + ".so";
}

/// Skips the test if the fixtures were not copied to this machine with the test binary.
#define ASSAY_NEEDS_FIXTURES()                              \
  if (!std::filesystem::exists(fixture("fixture_kernels"))) \
  GTEST_SKIP() << "the fixtures are not on this machine"

inline Variant kernel(const std::string& name, const IsolationOptions& options = {}) {
  return load_plugin(fixture("fixture_kernels") + "#" + name, options).at(0);
}

/// Tests of kernels on device memory: skipped without a GPU.
class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = unavailable_reason(Backend::cuda); !why.empty()) GTEST_SKIP() << why;
    if (!std::filesystem::exists(fixture("fixture_device")))
      GTEST_SKIP() << "the fixtures are not on this machine";
  }
  static Variant kernel(const std::string& name, const IsolationOptions& options = {}) {
    return load_plugin(fixture("fixture_device") + "#" + name, options).at(0);
  }
};

/// One launch of a softmax over f32. The logits of a row are 0, 1/8, ... 59/8, 0, ...; the outputs start as
/// NaN.
class Trial {
 public:
  Trial(std::int64_t rows, std::int64_t V, std::size_t guard = 512) {
    problem.rows = rows;
    problem.V = problem.in_pitch = problem.out_pitch = V;
    const std::size_t bytes = static_cast<std::size_t>(rows * V) * sizeof(float);
    images.logits = Image(bytes, 0, guard);
    images.probs = Image(bytes, 0, guard);
    for (Image* i : {&images.logits, &images.probs}) std::memset(i->data(), 0xff, i->size());
    for (std::int64_t i = 0; i < rows * V; ++i) logits()[i] = static_cast<float>(i % V % 60) / 8;
  }
  float* logits() { return reinterpret_cast<float*>(images.logits.payload()); }
  float* values() { return reinterpret_cast<float*>(images.probs.payload()); }
  LaunchOutcome run(const Variant& v, const LaunchOptions& options = {}) {
    return launch(v, problem, images, options);
  }
  /// True if the outputs are a softmax with a relative error of at most 1e-5.
  bool right() {
    for (std::int64_t r = 0; r < problem.rows; ++r) {
      double d = 0;
      for (std::int64_t i = 0; i < problem.V; ++i)
        d += std::exp(static_cast<double>(logits()[r * problem.V + i]));
      for (std::int64_t i = 0; i < problem.V; ++i) {
        const double exact = std::exp(static_cast<double>(logits()[r * problem.V + i])) / d;
        if (!(std::abs(static_cast<double>(values()[r * problem.V + i]) - exact) <= 1e-5 * exact))
          return false;
      }
    }
    return true;
  }

  Problem problem;
  Images images;
};

}  // namespace assay::isolation

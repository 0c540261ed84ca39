// SPDX-License-Identifier: Apache-2.0
// Test fixture over the algebras of this build. A test is skipped, with the reason, if this machine lacks the
// backend.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "kernels/device.hpp"
#include "properties/algebra.hpp"

namespace assay {

inline std::string name_of(const Algebra& a) { return std::string(name(a.backend)) + "_" + a.name; }

class OnAlgebra : public testing::TestWithParam<const Algebra*> {
 protected:
  void SetUp() override {
    if (const std::string why = unavailable_reason(algebra().backend); !why.empty()) GTEST_SKIP() << why;
  }
  const Algebra& algebra() const { return *GetParam(); }
};
inline const auto kAlgebraName = [](const testing::TestParamInfo<const Algebra*>& test) {
  return name_of(*test.param);
};

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Which GPUs a build has code for.
#include "kernels/device.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(DeviceCode, MachineCodeRunsOnItsOwnGenerationAndPtxOnNewerOnes) {
  EXPECT_EQ(no_code_reason("90", 9, 0), "");
  EXPECT_EQ(no_code_reason("90", 10, 0), "");
  EXPECT_EQ(no_code_reason("90-real", 9, 0), "");
  EXPECT_EQ(no_code_reason("80-real", 8, 9), "");
  EXPECT_EQ(no_code_reason("90-real,100", 12, 0), "");
  EXPECT_EQ(no_code_reason("90a", 9, 0), "");
  EXPECT_EQ(no_code_reason("all-major", 8, 0), "");
  EXPECT_EQ(no_code_reason("100f", 10, 3), "");
  EXPECT_NE(no_code_reason("100f", 12, 0), "");
  EXPECT_EQ(no_code_reason("90-real", 10, 0),
            "no GPU of an architecture that this build has code for: it was built for sm 90-real, the GPU is "
            "sm 100");
  EXPECT_NE(no_code_reason("90", 8, 0), "");
  EXPECT_NE(no_code_reason("89-real", 8, 6), "");
  EXPECT_NE(no_code_reason("90a", 10, 0), "");
  EXPECT_NE(no_code_reason("90-virtual", 8, 9), "");
}

}  // namespace
}  // namespace assay

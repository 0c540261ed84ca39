// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/process/environment.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>

namespace assay::isolation {
namespace {

TEST(Environment, OnlyWhatIsOnTheListIsKept) {
  setenv("ASSAY_TEST_SECRET", "token", 1);
  setenv("ASSAY_TEST_A", "1=2", 1);
  setenv("ASSAY_TEST_AB", "3", 1);
  constexpr std::string_view kOne[] = {"ASSAY_TEST_A", "ASSAY_TEST_NONE"};
  EXPECT_EQ(kept_environment(kOne), std::vector<std::string>{"ASSAY_TEST_A=1=2"});
  constexpr std::string_view kAll[] = {"ASSAY_TEST_A*"};
  EXPECT_EQ(kept_environment(kAll).size(), 2u);
  for (const std::string& one : kept_environment(kUsualVariables))
    EXPECT_EQ(one.find("token"), one.npos) << one;
  for (const char* name : {"ASSAY_TEST_SECRET", "ASSAY_TEST_A", "ASSAY_TEST_AB"}) unsetenv(name);
}

TEST(Environment, AKernelGetsWhatTheUserNames) {
  setenv("ASSAY_TEST_SECRET", "token", 1);
  setenv("ASSAY_TEST_B", "2", 1);
  setenv("CUDA_TEST_A", "1", 1);
  const auto has = [](const char* one) { return std::ranges::count(environment_of_kernels(), one) == 1; };
  EXPECT_TRUE(has("CUDA_TEST_A=1"));
  EXPECT_FALSE(has("ASSAY_TEST_B=2"));
  setenv(kKeepVariable, "ASSAY_TEST_B,,CUDA_*", 1);
  EXPECT_TRUE(has("ASSAY_TEST_B=2"));
  EXPECT_TRUE(has("CUDA_TEST_A=1")) << "once, although two lists have it";
  EXPECT_FALSE(has("ASSAY_TEST_SECRET=token"));
  setenv(kKeepVariable, "*", 1);
  EXPECT_TRUE(has("ASSAY_TEST_SECRET=token"));
  EXPECT_TRUE(has("CUDA_TEST_A=1")) << "once";
  for (const char* name : {"ASSAY_TEST_SECRET", "ASSAY_TEST_B", "CUDA_TEST_A", kKeepVariable}) unsetenv(name);
}

}  // namespace
}  // namespace assay::isolation

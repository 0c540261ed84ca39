// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/process/environment.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>


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

}  // namespace
}  // namespace assay::isolation

// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/process/environment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "kernels/isolation/process/child.hpp"
#include "reference/test_folder.hpp"

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

/// What a started shell prints to its standard output and error, as these are placed in two files.
std::string said_into(int output, int error, const TestFolder& folder) {
  pid_t pid = -1;
  const int status = start({.words = {"sh", "-c", "read none || echo out; echo err >&2"},
                            .descriptors = {{output, 1}, {error, 2}}},
                           pid);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(status_of(pid), 0);
  std::string all;
  for (const char* const name : {"out", "err"}) {
    std::ifstream in(folder.path() / name);
    all.append(std::istreambuf_iterator<char>(in), {});
  }
  return all;
}

TEST(Child, ADescriptorMayHaveTheNumberThatAnotherOneGets) {
  const TestFolder folder;
  const auto opened = [&](const char* name) {
    return open((folder.path() / name).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  };
  // This process has no standard input, so that the first file gets its number.
  const int input = dup(0);
  close(0);
  const int out = opened("out"), err = opened("err");
  EXPECT_EQ(out, 0);
  EXPECT_EQ(said_into(out, err, folder), "out\nerr\n");
  dup2(input, 0);
  close(input), close(err);

  // Each of two has the number that the other one gets.
  const int stdout_now = dup(1), stderr_now = dup(2), first = opened("out"), second = opened("err");
  dup2(first, 2), dup2(second, 1);
  const std::string said = said_into(2, 1, folder);
  dup2(stdout_now, 1), dup2(stderr_now, 2);
  EXPECT_EQ(said, "out\nout\nerr\nerr\n");
  for (const int one : {stdout_now, stderr_now, first, second}) close(one);
}

}  // namespace
}  // namespace assay::isolation

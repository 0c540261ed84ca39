// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/shared/memory_limit.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <vector>

namespace assay::isolation {
namespace {

TEST(MemoryLimit, IsOfTheMachineOrItsControlGroup) {
  EXPECT_EQ(most_memory({.all = 100'000}), 90'000);
  EXPECT_EQ(most_memory({.all = 100'000, .limit = 20'000}), 18'000);
  EXPECT_EQ(most_memory({.all = 100'000, .limit = 200'000}), 90'000);
}

TEST(MemoryLimit, OfThisMachine) {
  const MachineMemory m = machine_memory();
  EXPECT_GT(m.all, 0);
  setenv("ASSAY_WORKER_MEMORY", "77", 1);
  EXPECT_EQ(most_memory(), 77);
  unsetenv("ASSAY_WORKER_MEMORY");
  EXPECT_GT(most_memory(), 77);
}

TEST(MemoryLimit, WhatAProcessHasForItself) {
  const std::int64_t before = own_memory(getpid());
  std::vector<char> block(std::size_t{64} << 20, 1);
  EXPECT_GE(own_memory(getpid()), before + 60) << block[7];
}

}  // namespace
}  // namespace assay::isolation

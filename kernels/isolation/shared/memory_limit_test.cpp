// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/shared/memory_limit.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <vector>

namespace assay::isolation {
namespace {

TEST(MemoryLimit, IsOfWhatIsLeftNow) {
  EXPECT_EQ(most_memory({.all = 100'000, .available = 100'000}), 90'000);
  EXPECT_EQ(most_memory({.all = 100'000, .available = 40'000}), 36'000);
  EXPECT_EQ(most_memory({.all = 100'000, .available = 100}), 1024) << "some memory each kernel gets";
  EXPECT_EQ(most_memory({.all = 1000, .available = 100}), 900) << "but not more than there is";
}

TEST(MemoryLimit, IsThatOfTheControlGroup) {
  EXPECT_EQ(most_memory({.all = 100'000, .available = 90'000, .limit = 20'000, .used = 0}), 18'000);
  EXPECT_EQ(most_memory({.all = 100'000, .available = 90'000, .limit = 20'000, .used = 10'000}), 9000);
  EXPECT_EQ(most_memory({.all = 100'000, .available = 5000, .limit = 20'000, .used = 10'000}), 4500);
  EXPECT_EQ(most_memory({.all = 100'000, .available = 90'000, .limit = 20'000, .used = 30'000}), 1024);
}

TEST(MemoryLimit, OfThisMachine) {
  const MachineMemory m = machine_memory();
  EXPECT_GT(m.all, 0);
  EXPECT_GT(m.available, 0);
  EXPECT_LE(m.available, m.all);
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

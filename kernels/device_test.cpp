// SPDX-License-Identifier: Apache-2.0
// Which GPUs a build has code for.
#include "kernels/device.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "kernels/device_lock.hpp"

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

// The second process waits, says so once, and goes on when the first has ended, in whatever way.

namespace {

class DeviceLocks : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("assay-lock-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::filesystem::path folder;
};

TEST_F(DeviceLocks, TheSecondWaitsForTheFirstOfTheSameDevice) {
  const auto nobody_waits = [] { ADD_FAILURE() << "nobody else has it"; };
  auto first = std::make_unique<DeviceLock>("GPU-1", nobody_waits, folder);
  ASSERT_TRUE(first->held());
  EXPECT_TRUE(DeviceLock("GPU-2", nobody_waits, folder).held());
  std::atomic<int> said{0};
  std::atomic<bool> has{false};
  std::thread second([&] {
    const DeviceLock lock(
        "GPU-1", [&] { ++said; }, folder);
    has = lock.held();
  });
  for (int i = 0; i < 1000 && said == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(said, 1);
  EXPECT_FALSE(has);
  first.reset();
  second.join();
  EXPECT_TRUE(has);
  EXPECT_EQ(said, 1);
}

TEST_F(DeviceLocks, GoesWithItsProcessEvenOneThatIsKilled) {
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    const DeviceLock lock(
        "GPU-1", [] {}, folder);
    (void)!write(told[1], "x", 1);
    for (;;) pause();
  }
  char x;
  ASSERT_EQ(::read(told[0], &x, 1), 1);
  bool waited = false;
  const DeviceLock lock(
      "GPU-1",
      [&] {
        waited = true;
        kill(holder, SIGKILL);
      },
      folder);
  EXPECT_TRUE(waited);
  EXPECT_TRUE(lock.held());
  waitpid(holder, nullptr, 0);
  close(told[0]);
  close(told[1]);
}

TEST_F(DeviceLocks, WithoutAFolderThereIsNone) {
  EXPECT_FALSE(DeviceLock(
                   "GPU-1", [] {}, folder / "missing")
                   .held());
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The second process waits, says so once, and goes on when the first has ended, in whatever way.
#include "kernels/device_lock.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace assay {
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

// SPDX-License-Identifier: Apache-2.0
// A worker is charged for the time that it could use, not for the wall clock.
#include "kernels/isolation/process/worker_clock.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace assay::isolation {
namespace {

TEST(WorkerClock, CountsWhatAProcessCouldUse) {
  const auto child_that = [](auto does) {
    const pid_t pid = fork();
    if (pid == 0) {
      for (;;) does();
    }
    return pid;
  };
  const auto tick_of = [](pid_t pid) {
    WorkerClock clock(pid);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return clock.tick(0.3);
  };
  const pid_t sleeps = child_that([] { pause(); }), stands = child_that([] { raise(SIGSTOP); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_NEAR(tick_of(sleeps).used, 0.3, 0.01) << "its sleep is its own";
  EXPECT_FALSE(tick_of(sleeps).stopped);
  EXPECT_TRUE(tick_of(stands).stopped);
  EXPECT_LT(tick_of(stands).used, 0.01);
  for (const pid_t pid : {sleeps, stands}) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  EXPECT_EQ(tick_of(sleeps).used, 0.3) << "of one that nothing is known of, all counts";
}

}  // namespace
}  // namespace assay::isolation

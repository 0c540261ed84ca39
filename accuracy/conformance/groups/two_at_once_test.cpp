// SPDX-License-Identifier: Apache-2.0
// Two launches at the same time on the host executor take turns, so that a fault that needs both is found
// every time and not by chance.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "kernels/host/executor.hpp"
#include "kernels/isolation/worker/second_thread.hpp"

namespace assay::isolation {
namespace {

/// Never ends: its thread lives as long as the process.
SecondThread& second() {
  static auto* const thread = [] {
    auto* const made = new SecondThread;
    made->start();
    return made;
  }();
  return *thread;
}

/// What two works write that call turn(step) for each of these steps.
std::string written(int turns, const std::vector<int>& steps) {
  std::mutex mutex;
  std::string all;
  second().both(turns, 5, [&](int who) {
    for (const int step : steps) {
      {
        const std::lock_guard<std::mutex> lock(mutex);
        all += who == 0 ? 'a' : 'b';
      }
      SecondThread::turn(step);
    }
  });
  return all;
}

TEST(TwoLaunches, ChangePlacesAtTheStepsThatAreAskedFor) {
  for (int again = 0; again < 20; ++again) {
    EXPECT_EQ(written(1, {1, 1, 1}), "ababab");
    EXPECT_EQ(written(1, {3, 2, 1, 3, 2, 1}), "aaabbbaaabbb");
    EXPECT_EQ(written(2, {3, 2, 3, 1}), "aabbaabb");
    EXPECT_EQ(written(3, {3, 1}), "abab");
  }
  const std::string free = written(0, {1, 1});
  EXPECT_EQ(free.size(), 4u);
  // Not more than a limited number of times.
  const std::string many = written(1, std::vector<int>(1000, 1));
  EXPECT_EQ(many.size(), 2000u);
  EXPECT_EQ(many.substr(0, 4), "abab");
  // Without a second work there is nobody to wait for.
  SecondThread::turn(1);
}

TEST(TwoLaunches, ALauncherThatLetsOneInAtATimeIsNotStopped) {
  auto* const own = new SecondThread;
  own->start();
  std::mutex lock;
  int done = 0;
  for (int round = 0; round < 5; ++round)
    own->both(1, 0.05, [&](int) {
      const std::lock_guard<std::mutex> one(lock);
      for (int i = 0; i < 3; ++i) SecondThread::turn(1);
      ++done;
    });
  EXPECT_EQ(done, 10);
}

TEST(TwoLaunches, AWorkThatCallsNoTurnRunsBesideItselfFromThenOn) {
  auto* const own = new SecondThread;
  own->start();
  own->both(1, 5, [](int) {});
  // Each waits for the other, which would not end if they ran one after the other.
  std::atomic<int> here{0};
  own->both(1, 5, [&](int) {
    ++here;
    while (here < 2) std::this_thread::yield();
  });
  EXPECT_EQ(here, 2);
}

TEST(TwoLaunches, TheExecutorCallsAfterWarpsBlocksAndKernels) {
  static std::string steps;
  steps.clear();
  executor::take_turns([](int step) { steps += static_cast<char>('0' + step); });
  const auto two_halves = [](const void*) {
    executor::block_barrier(executor::Barrier::plain, 0, executor::Site::current());
  };
  executor::run({2}, {64}, 0, two_halves, nullptr);
  executor::take_turns(nullptr);
  executor::run({2}, {64}, 0, two_halves, nullptr);
  // Two blocks, and in each: the first warp to the barrier, the second through it, the rest of the first.
  EXPECT_EQ(steps, "333233321");
}

}  // namespace
}  // namespace assay::isolation

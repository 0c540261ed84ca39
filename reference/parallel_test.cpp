// SPDX-License-Identifier: Apache-2.0
// The loop over threads: every index once, on which thread, and what happens when a body throws.
#include "reference/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "reference/error.hpp"

namespace assay {
namespace {

TEST(Parallel, EveryIndexOnceWhateverTheThreads) {
  for (const int threads : {0, 1, 2, 7, 64})
    for (const std::size_t count : {0, 1, 2, 3, 63, 1000}) {
      std::vector<std::atomic<int>> times(count);
      parallel_for(count, threads, [&](std::size_t i) { ++times[i]; });
      for (const auto& n : times) ASSERT_EQ(n, 1) << count << " over " << threads;
    }
}

TEST(Parallel, OneThreadGoesInOrderOnTheCaller) {
  std::vector<std::size_t> seen;
  parallel_for(100, 1, [&, caller = std::this_thread::get_id()](std::size_t i) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    seen.push_back(i);
  });
  std::vector<std::size_t> want(100);
  std::iota(want.begin(), want.end(), std::size_t{0});
  EXPECT_EQ(seen, want);
}

TEST(Parallel, AsManyThreadsAsAskedForAndNoMoreThanIndices) {
  EXPECT_EQ(thread_count(3), 3);
  EXPECT_EQ(thread_count(0), static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  EXPECT_EQ(thread_count(-1), thread_count(0));
  EXPECT_EQ(workers_for(2, 8), 2);
  EXPECT_EQ(workers_for(0, 8), 1);
  EXPECT_EQ(workers_for(100, 8), 8);
}

// All bodies wait for each other, so they go on only if there are as many threads as indices.
TEST(Parallel, ThreadsRunAtTheSameTimeEachWithItsOwnNumber) {
  constexpr int kThreads = 4;
  std::mutex mutex;
  std::condition_variable all_here;
  std::set<int> workers;
  parallel_for_workers(kThreads, kThreads, [&](std::size_t, int worker) {
    std::unique_lock<std::mutex> lock(mutex);
    EXPECT_TRUE(workers.insert(worker).second) << worker;
    all_here.notify_all();
    all_here.wait(lock, [&] { return workers.size() == kThreads; });
  });
  EXPECT_EQ(workers, (std::set<int>{0, 1, 2, 3}));
}

TEST(Parallel, AnExceptionReachesTheCallerAndEndsTheLoop) {
  constexpr std::size_t kMany = 1'000'000'000;  // seconds of work, if it were all done
  for (const int threads : {1, 2, 5}) {
    std::atomic<std::size_t> done{0};
    try {
      parallel_for(kMany, threads, [&](std::size_t i) {
        if (i == 10) throw std::runtime_error("index 10");
        ++done;
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "index 10");
    }
    EXPECT_LT(done, kMany - 1) << "the loop went on to its end";
  }
}

// Both threads are inside a body when the later index throws first.
TEST(Parallel, OfSeveralExceptionsThatOfTheLowestIndex) {
  std::atomic<bool> one_threw{false};
  std::atomic<int> inside{0};
  try {
    parallel_for(2, 2, [&](std::size_t i) {
      ++inside;
      while (inside < 2) std::this_thread::yield();
      if (i == 0)
        while (!one_threw) std::this_thread::yield();
      one_threw = true;
      throw std::runtime_error(std::to_string(i));
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "0");
  }
}

TEST(Parallel, AThreadThatDoesNotBeginTakesNoIndex) {
  std::mutex mutex;
  std::set<int> began, worked;
  std::atomic<bool> all_asked{false};
  std::atomic<int> done{0};
  parallel_for_workers(
      100, 4,
      [&](std::size_t, int worker) {
        while (!all_asked) std::this_thread::yield();
        ++done;
        const std::lock_guard<std::mutex> lock(mutex);
        worked.insert(worker);
      },
      [&](int worker) {
        const std::lock_guard<std::mutex> lock(mutex);
        EXPECT_TRUE(began.insert(worker).second) << worker;
        all_asked = began.size() == 3;
        return worker == 2;
      });
  EXPECT_EQ(done, 100);
  EXPECT_EQ(began, (std::set<int>{1, 2, 3}));
  for (const int worker : worked) EXPECT_TRUE(worker == 0 || worker == 2) << worker;
}

TEST(Parallel, WhatBeginThrowsReachesTheCallerAndTheOthersEndFirst) {
  std::atomic<bool> threw{false};
  std::atomic<int> inside{0}, done{0};
  const auto run = [&] {
    parallel_for_workers(
        1000, 2,
        [&](std::size_t, int) {
          ++inside;
          while (!threw) std::this_thread::yield();
          std::this_thread::yield();
          ++done;
        },
        [&](int) -> bool {
          while (inside == 0) std::this_thread::yield();
          threw = true;
          throw std::runtime_error("no second worker");
        });
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_EQ(done, inside);
}

TEST(Parallel, LoopsMayNest) {
  std::atomic<int> done{0};
  parallel_for(5, 3, [&](std::size_t) { parallel_for(7, 2, [&](std::size_t) { ++done; }); });
  EXPECT_EQ(done, 35);
}

TEST(Parallel, CoresMayBeGiven) {
  setenv(kCoresVariable, "3", 1);
  EXPECT_EQ(thread_count(0), 3);
  EXPECT_EQ(thread_count(2), 2);
  for (const char* bad : {"", "0", "-1", "4097", "3x", " 3"}) {
    setenv(kCoresVariable, bad, 1);
    EXPECT_THROW(thread_count(0), InputError) << bad;
    EXPECT_EQ(thread_count(2), 2);
  }
  unsetenv(kCoresVariable);
  EXPECT_GE(thread_count(0), 1);
}

TEST(Parallel, LargestFirstAndEqualOnesInOrder) {
  const double weights[] = {1, 5, 3, 5, 0};
  EXPECT_EQ(largest_first(5, [&](std::size_t i) { return weights[i]; }),
            (std::vector<std::size_t>{1, 3, 2, 0, 4}));
  EXPECT_TRUE(largest_first(0, [](std::size_t) { return 0.0; }).empty());
}

}  // namespace
}  // namespace assay

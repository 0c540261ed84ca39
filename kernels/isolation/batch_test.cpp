// SPDX-License-Identifier: Apache-2.0
// Launches of several threads that are made together: the queue, and on a GPU the launches.
#include <atomic>
#include <thread>

#include "kernels/device.hpp"
#include "kernels/isolation/batch_queue.hpp"
#include "kernels/isolation/isolation_test.hpp"
#include "kernels/isolation/supervisor.hpp"
#include "reference/parallel.hpp"

namespace assay::isolation {
namespace {

struct Wanted {
  int number = 0, made = 0;
};

TEST(BatchQueue, EveryItemIsInOneBatchAndOneBatchIsMadeAtATime) {
  BatchQueue<Wanted> queue(5, 100);
  std::atomic<int> at_work{0}, batches{0}, of_several{0};
  constexpr int kThreads = 8, kEach = 200;
  parallel_for(kThreads, kThreads, [&](std::size_t) {
    for (int n = 0; n < kEach; ++n) {
      Wanted w{n};
      queue.add(w, 30, [&](const std::vector<Wanted*>& items) {
        EXPECT_EQ(++at_work, 1);
        // Three fit into 100 bytes.
        EXPECT_GE(items.size(), 1u);
        EXPECT_LE(items.size(), 3u);
        for (Wanted* i : items) ++i->made;
        std::this_thread::yield();
        ++batches;
        of_several += items.size() > 1;
        --at_work;
      });
      EXPECT_EQ(w.made, 1);
    }
  });
  EXPECT_LE(batches, kThreads * kEach);
}

TEST(BatchQueue, WhatWaitsIsMadeTogetherInItsOrder) {
  BatchQueue<Wanted> queue(64, 1000);
  std::atomic<int> added{0};
  std::vector<std::vector<int>> seen;
  const auto note = [&](const std::vector<Wanted*>& items) {
    std::vector<int>& of = seen.emplace_back();
    for (const Wanted* i : items) of.push_back(i->number);
    // The first batch lasts until all others wait.
    while (seen.size() == 1 && added < 4) std::this_thread::yield();
    if (seen.size() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([&, n] {
      Wanted w{n};
      ++added;
      // One is too large for a batch with others.
      queue.add(w, n == 3 ? 2000 : 10, note);
    });
    while (added <= n) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (std::thread& t : threads) t.join();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0], std::vector<int>{0});
  EXPECT_EQ(seen[1], (std::vector<int>{1, 2}));
  EXPECT_EQ(seen[2], std::vector<int>{3});
}

class DeviceBatch : public OnDevice {};

TEST_F(DeviceBatch, LaunchesOfManyThreadsAreRight) {
  const Variant v = kernel("right");
  ASSERT_TRUE(v.launcher->shares_launches());
  parallel_for(400, 32, [&](std::size_t i) {
    const LaunchesTogether together;
    Trial t(1 + static_cast<std::int64_t>(i % 5), 1 + static_cast<std::int64_t>(i * 37 % 3000));
    const LaunchOutcome outcome = t.run(v);
    EXPECT_EQ(outcome.fault, "");
    EXPECT_EQ(outcome.late_write, "");
    EXPECT_TRUE(t.right()) << i;
  });
}

TEST_F(DeviceBatch, ADeathIsThatOfItsOwnLaunchOnly) {
  for (const char* name : {"write_null", "trap", "bad_launch"}) {
    const Variant bad = kernel(name);
    parallel_for(24, 8, [&](std::size_t) {
      const LaunchesTogether together;
      Trial t(2, 33);
      const LaunchOutcome outcome = t.run(bad);
      EXPECT_EQ(outcome.ended, std::string(name) == "bad_launch" ? Ended::fault : Ended::crashed)
          << name << ": " << outcome.fault;
    });
  }
}

TEST_F(DeviceBatch, LaunchesThatAreNotWantedTogetherAreMadeToo) {
  const Variant v = kernel("right");
  parallel_for(64, 16, [&](std::size_t i) {
    const LaunchesTogether together(i % 2 == 1);
    EXPECT_EQ(LaunchesTogether::wanted(), i % 2 == 1);
    Trial t(2, 33);
    EXPECT_EQ(t.run(v).fault, "");
    EXPECT_TRUE(t.right());
  });
}

}  // namespace
}  // namespace assay::isolation

// SPDX-License-Identifier: Apache-2.0
// The isolation of kernels on device memory. Needs a GPU; without one every case is skipped.
#include "kernels/device.hpp"

#include <chrono>
#include <thread>

#include "kernels/fault_kind.hpp"
#include "kernels/isolation/isolation_test.hpp"

namespace assay::isolation {
namespace {

class DeviceIsolation : public OnDevice {};

TEST_F(DeviceIsolation, ARightKernelIsRightInEveryWay) {
  const Variant v = kernel("right");
  LaunchOptions at_end{.page_end = true}, delayed{.delayed_producer = true},
      both{.page_end = true, .delayed_producer = true};
  for (const LaunchOptions& options : {LaunchOptions{}, LaunchOptions{.slot = 1}, at_end, delayed, both})
    for (const std::int64_t V : {1, 33, 4096, 300000}) {
      EXPECT_EQ(v.launcher->cannot(options), "");
      Trial t(3, V);
      const LaunchOutcome outcome = t.run(v, options);
      EXPECT_EQ(outcome.fault, "") << V;
      EXPECT_EQ(outcome.late_write, "") << V;
      EXPECT_TRUE(t.right()) << V << (options.page_end ? " at the page's end" : "")
                             << (options.delayed_producer ? " late" : "");
    }
  Trial a(2, 33), b(2, 33);
  for (const LaunchOutcome& o : v.launcher->launch_both(v, a.problem, {&a.images, &b.images}, {}))
    EXPECT_EQ(o.fault, "");
  EXPECT_TRUE(a.right());
  EXPECT_TRUE(b.right());
}

TEST_F(DeviceIsolation, EveryDeathIsOneClearOutcomeAndTheNextLaunchWorks) {
  const Variant right = kernel("right");
  const struct {
    const char* kernel;
    Ended ended;
    const char* words;
    LaunchOptions options;
  } all[] = {
      {"write_null", Ended::crashed, "illegal memory access", {}},
      {"write_past", Ended::crashed, "illegal memory access", {.page_end = true}},
      {"trap", Ended::crashed, "CUDA: kernel: ", {}},
      {"bad_launch", Ended::fault, "returned status", {}},
  };
  for (const auto& m : all) {
    const Variant v = kernel(m.kernel);
    Trial bad(2, 33), good(2, 33);
    const LaunchOutcome outcome = bad.run(v, m.options);
    EXPECT_EQ(outcome.ended, m.ended) << m.kernel << ": " << outcome.fault;
    EXPECT_NE(outcome.fault.find(m.words), std::string::npos) << m.kernel << ": " << outcome.fault;
    EXPECT_NE(bad.run(v, m.options).fault, "") << m.kernel;
    EXPECT_EQ(good.run(right).fault, "") << "after " << m.kernel;
    EXPECT_TRUE(good.right()) << "after " << m.kernel;
  }
  // A write into the guard band is found there if a page lies behind the band.
  Trial guarded(2, 33);
  EXPECT_EQ(guarded.run(kernel("write_past")).fault, "");
  EXPECT_EQ(guarded.values()[66], 1.0f);
}

TEST_F(DeviceIsolation, AHangIsEnded) {
  const Variant v = kernel("hang", {.timeout_seconds = 5});
  Trial t(2, 33);
  const LaunchOutcome outcome = t.run(v);
  EXPECT_EQ(outcome.ended, Ended::hung) << outcome.fault;
  Trial good(2, 33);
  EXPECT_EQ(good.run(kernel("right")).fault, "");
  EXPECT_TRUE(good.right());
}

TEST_F(DeviceIsolation, ALaunchBesideOnesThatDoNotEndIsNotHung) {
  // Each of them takes turns on the device. By the clock alone, some launch here takes longer than 50 ms.
  std::vector<std::thread> neighbours;
  for (int i = 0; i < 4; ++i)
    neighbours.emplace_back([] {
      const Variant v = kernel("hang", {.timeout_seconds = 4});
      Trial t(2, 33);
      EXPECT_EQ(t.run(v).ended, Ended::hung);
      EXPECT_TRUE(v.launcher->disturbance().doubtful);
    });
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const Variant v = kernel("right", {.timeout_seconds = 2});
  for (int i = 0; i < 20; ++i) {
    Trial t(2, 300000);
    EXPECT_EQ(t.run(v).fault, "") << i;
    EXPECT_TRUE(t.right());
  }
  for (std::thread& n : neighbours) n.join();
}

TEST_F(DeviceIsolation, MemoryThatAnotherProcessHoldsIsNoFault) {
  const Variant hoarder = kernel("hoard"), right = kernel("right"), greedy = kernel("hoard_and_fail");
  Trial a(2, 33), b(3, 300000), c(2, 33);
  EXPECT_EQ(a.run(hoarder).fault, "");
  const LaunchOutcome outcome = b.run(right);
  EXPECT_EQ(outcome.ended, Ended::lost) << outcome.fault;
  EXPECT_EQ(outcome.kind, FaultKind::memory) << outcome.fault;
  EXPECT_EQ(right.launcher->disturbance().lost.fault, outcome.fault);
  hoarder.launcher->restart();
  EXPECT_EQ(b.run(right).fault, "");
  EXPECT_TRUE(b.right());
  // Memory that the kernel has taken itself is its own fault.
  const LaunchOutcome own = c.run(greedy);
  EXPECT_EQ(own.ended, Ended::fault) << own.fault;
  EXPECT_NE(own.fault.find("its own process held"), std::string::npos) << own.fault;
}

TEST_F(DeviceIsolation, WorkOnAnotherStreamIsNoticed) {
  Trial t(2, 33), u(2, 33);
  EXPECT_EQ(t.run(kernel("late")).late_write, "the values changed after the launch had ended");
  EXPECT_TRUE(t.right());
  // The default stream does not wait for the producer, except at a kernel's first launch, which loads its
  // module.
  const Variant undeclared = kernel("default_stream");
  EXPECT_EQ(Trial(2, 33).run(undeclared).fault, "");
  EXPECT_EQ(u.run(undeclared, {.delayed_producer = true}).fault, "");
  EXPECT_FALSE(u.right());
  // For a kernel that declares the default stream, the supervisor waits for that stream. A delayed producer
  // is refused.
  const Variant declared = kernel("declared_default");
  for (const std::int64_t V : {33, 300000}) {
    Trial w(2, V);
    const LaunchOutcome outcome = w.run(declared);
    EXPECT_EQ(outcome.fault + outcome.late_write, "");
    EXPECT_TRUE(w.right());
  }
  EXPECT_EQ(declared.launcher->cannot({.delayed_producer = true}),
            "delayed_producer: the kernel takes no stream");
}

TEST_F(DeviceIsolation, ARegisteredKeyGivesTheSameBits) {
  const Variant* here = find_variant("online_block/f32@cuda");
  ASSERT_NE(here, nullptr);
  const Variant there = isolated(*here);
  Trial a(3, 5000), b(3, 5000);
  for (Trial* t : {&a, &b}) {
    t->images.m = Image(12, 0, 512);
    t->images.d = Image(12, 0, 512);
  }
  EXPECT_EQ(a.run(*here).fault, "");
  EXPECT_EQ(b.run(there).fault, "");
  EXPECT_EQ(std::memcmp(a.values(), b.values(), 60000), 0);
  EXPECT_EQ(std::memcmp(a.images.d.payload(), b.images.d.payload(), 12), 0);
}

}  // namespace
}  // namespace assay::isolation

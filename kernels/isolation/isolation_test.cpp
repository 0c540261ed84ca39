// SPDX-License-Identifier: Apache-2.0
// Whatever a kernel does to its process, the outcome is clear and the next launch works.
#include "kernels/isolation/isolation_test.hpp"

#include <dlfcn.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <fstream>
#include <thread>

#include "kernels/fault_kind.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "kernels/isolation/supervisor.hpp"
#include "reference/error.hpp"

namespace assay::isolation {
namespace {

struct Misbehaviour {
  const char* kernel;
  Ended ended;
  const char* words;  // that the fault must contain
};

TEST(Isolation, EveryDeathIsOneClearOutcomeAndTheNextLaunchWorks) {
  ASSAY_NEEDS_FIXTURES();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer words these deaths in its own way";
#endif
  Dl_info where{};
  const bool own_library = dladdr(reinterpret_cast<void*>(&std::terminate), &where) != 0 &&
                           std::string_view(where.dli_fname).find("libstdc++") == std::string_view::npos;
  const Misbehaviour all[] = {
      {"write_null", Ended::crashed, "segmentation fault: a write at address 0x0, near a null pointer"},
      {"abort", Ended::crashed, "aborted: \"kernel: the impossible happened\""},
      {"exit_3", Ended::crashed, "exited with status 3"},
      {"sigkill", Ended::crashed, "ended by signal 9 (Killed)"},
      {"divide", Ended::crashed, "arithmetic exception"},
      {"stack", Ended::crashed, "segmentation fault: "},
      {"close_everything", Ended::crashed, "closed or replaced the worker's file descriptors"},
      {"close_and_hang", Ended::crashed, "closed or replaced the worker's file descriptors, and went on"},
      {"replace_and_hang", Ended::crashed, "closed or replaced the worker's file descriptors, and went on"},
      {"raise_segv", Ended::crashed, "segmentation fault, and it raised the signal itself"},
      {"print_bytes_and_die", Ended::crashed, "aborted: \"red \xef\xbf\xbd\xef\xbf\xbd end\""},
      {"speak", Ended::crashed, "sent bytes of its own to the supervisor"},
      {"fork_and_die", Ended::crashed, "ended by signal 9 (Killed)"},
      {"print_a_lot_and_die", Ended::crashed, "aborted: \"line 19997 of a talkative kernel"},
      {"crash_later", Ended::crashed, "segmentation fault: a write at address 0x0, near a null pointer"},
      // A bundle has a C++ library of its own, which can not catch what the plugin's library throws.
      {"throw_error", own_library ? Ended::crashed : Ended::fault,
       own_library ? "aborted" : "threw an exception: out of luck"},
      {"throw_number", own_library ? Ended::crashed : Ended::fault,
       own_library ? "aborted" : "threw something that is not a std::exception"},
      {"status_7", Ended::fault, "returned status 7"},
  };
  const std::vector<Variant> variants = load_plugin(fixture("fixture_kernels"));
  const auto find = [&](std::string_view name) -> const Variant& {
    for (const Variant& v : variants)
      if (v.variant == name) return v;
    throw InputError("no such fixture");
  };
  for (const Misbehaviour& m : all) {
    forget_unexplained_ends();  // each of them is a kernel of its own
    Trial bad(2, 33);
    const LaunchOutcome outcome = bad.run(find(m.kernel));
    EXPECT_EQ(outcome.ended, m.ended) << m.kernel << ": " << outcome.fault;
    EXPECT_NE(outcome.fault.find(m.words), std::string::npos) << m.kernel << ": " << outcome.fault;
    EXPECT_EQ(outcome.fault.find('\n'), std::string::npos) << m.kernel << ": " << outcome.fault;
    // What it had written before can still be read.
    if (m.ended == Ended::crashed) {
      EXPECT_TRUE(bad.right()) << m.kernel;
    }
    Trial good(2, 33);
    const LaunchOutcome after = good.run(find("right"));
    EXPECT_TRUE(after.ok()) << "after " << m.kernel << ": " << after.fault;
    EXPECT_EQ(after.late_write, "") << "after " << m.kernel;
    EXPECT_TRUE(good.right()) << "after " << m.kernel;
  }
}

/// An abort in the kernel's own words, such as an assertion, is `died`. A broken heap is an overrun.
TEST(Isolation, ABrokenHeapIsAWriteAndNoWordOfTheKernel) {
  ASSAY_NEEDS_FIXTURES();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer has a heap of its own";
#endif
  for (const auto& [name, kind] :
       {std::pair("abort", FaultKind::died), std::pair("break_heap", FaultKind::own_memory_overrun)}) {
    Trial t(2, 33);
    const LaunchOutcome outcome = t.run(kernel(name));
    EXPECT_FALSE(outcome.ok()) << name;
    EXPECT_EQ(outcome.kind, kind) << outcome.fault;
  }
}

TEST(Isolation, AHangIsEnded) {
  ASSAY_NEEDS_FIXTURES();
  const IsolationOptions options{.timeout_seconds = 0.3};
  for (const char* name : {"hang", "stop"}) {
    const Variant v = kernel(name, options);
    const auto start = std::chrono::steady_clock::now();
    Trial t(2, 33);
    const LaunchOutcome outcome = t.run(v);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(outcome.ended, Ended::hung) << name << ": " << outcome.fault;
    EXPECT_TRUE(outcome.fault.starts_with("nothing came back within 0.3 s")) << outcome.fault;
    EXPECT_EQ(outcome.fault.find("was stopped by a signal") != std::string::npos,
              std::string(name) == "stop");
    EXPECT_LT(seconds.count(), 3);
    EXPECT_TRUE(t.right()) << name;
    EXPECT_EQ(t.run(v).ended, Ended::hung) << name;
  }
}

/// Sets the environment of the fixtures that misbehave in their first launches.
class SomeTimes {
 public:
  explicit SomeTimes(int times)
      : file_(std::filesystem::temp_directory_path() / ("assay-some-times-" + std::to_string(getpid()))) {
    std::filesystem::remove(file_);
    setenv("ASSAY_FIXTURE_SOME", (std::to_string(times) + " " + file_.string()).c_str(), 1);
    setenv("ASSAY_KEEP_ENV", "ASSAY_FIXTURE_SOME", 1);
    forget_unexplained_ends();
  }
  ~SomeTimes() {
    unsetenv("ASSAY_FIXTURE_SOME");
    unsetenv("ASSAY_KEEP_ENV");
    std::filesystem::remove(file_);
  }

 private:
  std::filesystem::path file_;
};

TEST(Isolation, WhatMayHaveComeFromOutsideIsTriedAgainInAFreshWorker) {
  ASSAY_NEEDS_FIXTURES();
  for (const char* name : {"die_some_times", "stop_some_times"}) {
    const SomeTimes once(1);
    // In a sandbox it could not write the file that counts.
    const Variant v = kernel(name, {.timeout_seconds = 0.3, .sandbox = false});
    Trial t(2, 33);
    const LaunchOutcome outcome = t.run(v);
    EXPECT_EQ(outcome.fault, "") << name;
    EXPECT_EQ(outcome.late_write, "") << name;
    EXPECT_TRUE(t.right()) << name;
    const Disturbance d = v.launcher->disturbance();
    EXPECT_TRUE(d.doubtful) << name;
    EXPECT_EQ(d.lost.fault, "") << name;
    EXPECT_FALSE(v.launcher->disturbance().any()) << name << ": it is told once";
  }
  // If it dies twice, the kernel is to blame, until it is tried alone.
  const SomeTimes twice(2);
  const Variant v = kernel("die_some_times", {.sandbox = false});
  Trial t(2, 33);
  EXPECT_EQ(t.run(v).ended, Ended::crashed);
  EXPECT_TRUE(v.launcher->disturbance().doubtful);
  EXPECT_EQ(t.run(v).fault, "");
}

/// In a process namespace of its own nobody else sends it signals, more than once or twice.
TEST(Isolation, WhoEndsItsOwnProcessIsToBlameFromTheThirdTimeOn) {
  ASSAY_NEEDS_FIXTURES();
  if (const std::string why = why_not_sandboxed(); !why.empty()) GTEST_SKIP() << why;
  if (isolation::widest_reach() == isolation::Reach::device)
    GTEST_SKIP() << "on a GPU the process namespace is shared, and nobody knows who sent a signal";
  if (isolation::guard_of(isolation::Reach::host) != Guard::bubblewrap)
    GTEST_SKIP() << "without a process namespace of its own nobody knows who sent a signal";
  for (const auto& [name, words] :
       {std::pair("sigkill", "ended its own process by signal 9 (Killed) in more than 2 launches"),
        std::pair("stop", "its process was stopped by a signal, its own, in more than 2 launches")}) {
    forget_unexplained_ends();
    const Variant v = kernel(name, {.timeout_seconds = 0.3});
    Trial t(2, 33);
    EXPECT_EQ(t.run(v).fault.find("more than"), std::string::npos) << name;
    EXPECT_TRUE(v.launcher->disturbance().doubtful) << name;
    const std::string fault = t.run(v).fault;
    EXPECT_TRUE(fault.starts_with(words)) << fault;
  }
  EXPECT_EQ(count_unexplained_end("/nowhere"), 1);
  EXPECT_EQ(count_unexplained_end("/nowhere"), 2);
}

TEST(Isolation, AFaultOfItsOwnIsNotDoubtful) {
  ASSAY_NEEDS_FIXTURES();
  for (const char* name : {"write_null", "abort", "exit_3", "status_7", "close_and_hang"}) {
    const Variant v = kernel(name);
    Trial t(2, 33);
    EXPECT_FALSE(t.run(v).ok());
    EXPECT_FALSE(v.launcher->disturbance().any()) << name;
  }
}

TEST(Isolation, AWorkerThatGetsNoProcessorIsNotHung) {
  ASSAY_NEEDS_FIXTURES();
  // It gets a tenth of its processor, so by the clock it needs twice its patience.
  std::atomic<bool> enough{false};
  std::thread neighbour([&] {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    if (sched_setaffinity(0, sizeof first, &first) != 0) return;
    while (!enough) continue;
  });
  const Variant v = kernel("wait_for_a_processor", {.timeout_seconds = 0.5});
  Trial t(2, 33);
  const LaunchOutcome outcome = t.run(v);
  enough = true;
  neighbour.join();
  EXPECT_EQ(outcome.fault, "");
  EXPECT_TRUE(t.right());
  // Its own time is the tenth of a second that it computed, and not the second on the clock. The last tick of
  // a tenth of a second is counted by the clock.
  const double own = v.launcher->disturbance().ended_seconds;
  EXPECT_GT(own, 0.05);
  EXPECT_LT(own, 0.65);
}

TEST(Isolation, AShorterWaitAfterAHangIsSaid) {
  ASSAY_NEEDS_FIXTURES();
  const Variant v = kernel("run_for_ever", {.timeout_seconds = 1.2});
  Trial t(2, 33);
  EXPECT_EQ(t.run(v).fault, "nothing came back within 1.2 s");
  EXPECT_EQ(t.run(v).fault, "nothing came back within 1 s (it hung before, so it gets less than --timeout)");
}

TEST(Isolation, MorePatienceIsMoreTime) {
  ASSAY_NEEDS_FIXTURES();
  const Variant v = kernel("run_for_ever", {.timeout_seconds = 0.2});
  Trial t(2, 33);
  EXPECT_TRUE(t.run(v).fault.starts_with("nothing came back within 0.2 s"));
  EXPECT_TRUE(v.launcher->disturbance().doubtful);
  v.launcher->be_patient(5);
  const auto start = std::chrono::steady_clock::now();
  const LaunchOutcome outcome = t.run(v);
  EXPECT_EQ(outcome.ended, Ended::hung);
  EXPECT_TRUE(outcome.fault.starts_with("nothing came back within 1 s")) << outcome.fault;
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(950));
}

TEST(Isolation, MemoryThatIsNotToBeHadIsNoFault) {
  ASSAY_NEEDS_FIXTURES();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own addresses are more than any limit";
#endif
  const Variant v = kernel("right");
  Trial small(1, 33), large(2048, 4096);
  EXPECT_EQ(small.run(v).fault, "");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  std::ifstream sizes("/proc/self/statm");
  std::uint64_t pages = 0;
  sizes >> pages;
  rlimit now = before;
  now.rlim_cur = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + (32u << 20);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &now), 0);
  const LaunchOutcome outcome = large.run(v);
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(outcome.ended, Ended::lost);
  EXPECT_EQ(outcome.kind, FaultKind::memory) << outcome.fault;
  EXPECT_EQ(v.launcher->disturbance().lost.fault, outcome.fault);
  EXPECT_EQ(large.run(v).fault, "");
  EXPECT_TRUE(large.right());
}

TEST(Isolation, TalkIsHarmless) {
  ASSAY_NEEDS_FIXTURES();
  const Variant v = kernel("print_a_lot");
  for (int i = 0; i < 3; ++i) {
    Trial t(1, 100);
    EXPECT_EQ(t.run(v).fault, "");
    EXPECT_TRUE(t.right());
  }
}

TEST(Isolation, NeedsAWorkerItCanUse) {
  const Variant& v = *find_variant("online_block/f32@host");
  for (const auto& [worker, words] :
       {std::pair{"/nowhere/assay", "/nowhere/assay: not an executable file"},
        std::pair{"/bin/true", "/bin/true: can not be used as a worker: exited with status 0"},
        std::pair{"/bin/cat", "/bin/cat: can not be used as a worker: exited with status 1"}})
    try {
      isolated(v, {.timeout_seconds = 5, .worker = worker});
      ADD_FAILURE() << worker;
    } catch (const InputError& e) {
      EXPECT_TRUE(std::string(e.what()).starts_with(words)) << e.what();
    }
}

// What timing in a worker says where there is nothing to time on. The times themselves need a GPU
// (reports/sweep/device_test.cpp).

TEST(Timed, BuffersOfASetLieWhereTheSweepPutsThem) {
  const TimedSets sets{nullptr, 0, 0, 3, 1024, 512, 256, 2048};
  const TimedSets::At first = sets.at(0), last = sets.at(2);
  EXPECT_EQ(first.logits, 0u);
  EXPECT_EQ(first.values, 3u * 1024);
  EXPECT_EQ(first.indices, 3u * 1024 + 512);
  EXPECT_EQ(first.workspace, 3u * (1024 + 512 + 256));
  EXPECT_EQ(last.logits, 2u * 1024);
  EXPECT_EQ(last.values, 3u * 1024 + 2 * (512 + 256));
  EXPECT_EQ(last.indices, last.values + 512);
  EXPECT_EQ(last.workspace, first.workspace + 2 * 2048);
}

TEST(Timed, AKernelOnTheCpuIsNotTimed) {
  ASSAY_NEEDS_FIXTURES();
  const Variant v = kernel("right");
  EXPECT_NE(v.launcher->cannot_time().find("runs on the CPU"), std::string::npos);
  Trial t(2, 33);
  const TimedOutcome o = v.launcher->time(v, t.problem, {}, {});
  EXPECT_EQ(o.launch.ended, Ended::fault);
  EXPECT_EQ(o.us, 0);
  v.launcher->forget_sets();
  EXPECT_EQ(t.run(v).fault, "");
  EXPECT_TRUE(t.right());
}

TEST(Timed, WithoutADeviceNoNumberComesBackAndTheWorkerStays) {
  ASSAY_NEEDS_FIXTURES();
  if (unavailable_reason(Backend::cuda).empty()) GTEST_SKIP() << "this machine has a GPU";
  Supervisor s({true, fixture("fixture_kernels")}, {});
  ASSERT_GT(s.load(), 0u);
  EXPECT_EQ(s.cannot_time(true), unavailable_reason(Backend::cuda));
  Trial t(2, 33);
  const TimedOutcome o = s.time(0, t.problem, {}, {});
  EXPECT_FALSE(o.launch.ok());
  EXPECT_EQ(o.us, 0);
  // The worker answers the request itself, too.
  s.forget_sets();
  EXPECT_EQ(s.describe(0).device_type, 1);
}

}  // namespace
}  // namespace assay::isolation

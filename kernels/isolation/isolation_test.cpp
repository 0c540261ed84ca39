// Whatever a kernel does to its process becomes one clear outcome, and the next launch works.
#include "kernels/isolation/isolation_test.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "kernels/isolation/process/worker_clock.hpp"
#include "kernels/isolation/shared/arena.hpp"
#include "kernels/plugin.h"
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
  const Misbehaviour all[] = {
    {"write_null", Ended::crashed, "segmentation fault: a write at address 0x0, near a null pointer"},
    {"abort", Ended::crashed, "aborted: \"kernel: the impossible happened\""},
    {"exit_3", Ended::crashed, "exited with status 3"},
    {"sigkill", Ended::crashed, "ended by signal 9 (Killed)"},
    {"divide", Ended::crashed, "arithmetic exception"},
    {"stack", Ended::crashed, "segmentation fault: "},
    {"close_everything", Ended::crashed, "closed the worker's file descriptors"},
    {"close_and_hang", Ended::crashed, "closed the worker's file descriptors and went on"},
    {"speak", Ended::crashed, "sent bytes of its own to the supervisor"},
    {"fork_and_die", Ended::crashed, "ended by signal 9 (Killed)"},
    {"print_a_lot_and_die", Ended::crashed, "aborted: \"line 19997 of a talkative kernel"},
    {"crash_later", Ended::crashed, "segmentation fault: a write at address 0x0, near a null pointer"},
#if defined(ASSAY_STATIC)
    {"throw_error", Ended::crashed, "aborted"},
    {"throw_number", Ended::crashed, "aborted"},
#else
    {"throw_error", Ended::fault, "threw an exception: out of luck"},
    {"throw_number", Ended::fault, "threw something that is not a std::exception"},
#endif
    {"status_7", Ended::fault, "returned status 7"},
  };
  const std::vector<Variant> variants = load_plugin(fixture("fixture_kernels"));
  const auto find = [&](std::string_view name) -> const Variant& {
    for (const Variant& v : variants)
      if (v.variant == name) return v;
    throw InputError("no such fixture");
  };
  for (const Misbehaviour& m : all) {
    Trial bad(2, 33);
    const LaunchOutcome outcome = bad.run(find(m.kernel));
    EXPECT_EQ(outcome.ended, m.ended) << m.kernel << ": " << outcome.fault;
    EXPECT_NE(outcome.fault.find(m.words), std::string::npos) << m.kernel << ": " << outcome.fault;
    EXPECT_EQ(outcome.fault.find('\n'), std::string::npos) << m.kernel << ": " << outcome.fault;
    // What it had written before is there to be looked at.
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

/// A word of the kernel's own, such as an assertion, says no. A heap that glibc finds broken was written to.
TEST(Isolation, ABrokenHeapIsAWriteAndNoWordOfTheKernel) {
  ASSAY_NEEDS_FIXTURES();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer has a heap of its own";
#endif
  for (const auto& [name, kind] :
       {std::pair("abort", FaultKind::died), std::pair("break_heap", FaultKind::own_memory_overrun)}) {
    Trial t(2, 33);
    const LaunchOutcome outcome = t.run(kernel(name));
    EXPECT_EQ(outcome.ended, Ended::crashed) << outcome.fault;
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

/// The environment of the fixtures that misbehave in their first launches.
class SomeTimes {
 public:
  explicit SomeTimes(int times)
      : file_(std::filesystem::temp_directory_path() / ("assay-some-times-" + std::to_string(getpid()))) {
    std::filesystem::remove(file_);
    setenv("ASSAY_FIXTURE_SOME", (std::to_string(times) + " " + file_.string()).c_str(), 1);
  }
  ~SomeTimes() {
    unsetenv("ASSAY_FIXTURE_SOME");
    std::filesystem::remove(file_);
  }

 private:
  std::filesystem::path file_;
};

TEST(Isolation, WhatMayHaveComeFromOutsideIsTriedAgainInAFreshWorker) {
  ASSAY_NEEDS_FIXTURES();
  for (const char* name : {"die_some_times", "stop_some_times"}) {
    const SomeTimes once(1);
    const Variant v = kernel(name, {.timeout_seconds = 0.3});
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
  // Twice is the kernel's, until it is seen alone.
  const SomeTimes twice(2);
  const Variant v = kernel("die_some_times");
  Trial t(2, 33);
  EXPECT_EQ(t.run(v).ended, Ended::crashed);
  EXPECT_TRUE(v.launcher->disturbance().doubtful);
  EXPECT_EQ(t.run(v).fault, "");
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
  // Its processor gives it a tenth: what it needs takes twice its patience by the clock.
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

TEST(Isolation, TalkIsHarmless) {
  ASSAY_NEEDS_FIXTURES();
  const Variant v = kernel("print_a_lot");
  for (int i = 0; i < 3; ++i) {
    Trial t(1, 100);
    EXPECT_EQ(t.run(v).fault, "");
    EXPECT_TRUE(t.right());
  }
}

TEST(Isolation, NoticesLateWrites) {
  ASSAY_NEEDS_FIXTURES();
  for (const char* name : {"late", "late_from_a_child"}) {
    // On a busy machine the late write may come before this process gets to look at all: then it is no late
    // one.
    const Variant v = kernel(name);
    LaunchOutcome outcome;
    for (int attempt = 0; attempt < 5 && outcome.late_write.empty(); ++attempt) {
      v.launcher->restart();
      Trial t(2, 33);
      outcome = t.run(v);
      EXPECT_EQ(outcome.fault, "") << name;
      EXPECT_TRUE(t.right() || outcome.late_write.empty())
          << name << ": what is judged is what was there when the launch ended";
    }
    EXPECT_EQ(outcome.late_write, "the values changed after the launch had ended") << name;
  }
  const Variant later = kernel("later");
  Trial t(2, 33);
  EXPECT_EQ(t.run(later).late_write, "");
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_EQ(t.run(later).late_write,
            "the values changed after the launch had ended (the launch before this one)");
}

TEST(Isolation, PageEndsStopReadsAndWritesPastABuffer) {
  ASSAY_NEEDS_FIXTURES();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer words these deaths in its own way";
#endif
  const LaunchOptions at_end{.page_end = true};
  for (const std::int64_t V : {std::int64_t{1}, std::int64_t{33}, std::int64_t{1024}, std::int64_t{2049}}) {
    const std::string bytes = std::to_string(3 * V * 4);
    Trial good(3, V);
    EXPECT_EQ(good.run(kernel("right"), at_end).fault, "");
    EXPECT_TRUE(good.right()) << V;

    Trial written(3, V), read(3, V), unseen(3, V);
    const LaunchOutcome past = written.run(kernel("write_past"), at_end);
    EXPECT_EQ(past.ended, Ended::crashed);
    EXPECT_EQ(past.fault,
              "segmentation fault: a write at byte " + bytes + " of the values, which have " + bytes);
    EXPECT_EQ(read.run(kernel("read_past"), at_end).fault,
              "segmentation fault: a read at byte " + bytes + " of the logits, which have " + bytes);
    // In the ordinary place the same read is unseen, and the write lands in the guard band.
    EXPECT_EQ(unseen.run(kernel("read_past")).fault, "");
    Trial guarded(3, V);
    EXPECT_EQ(guarded.run(kernel("write_past")).fault, "");
    EXPECT_EQ(guarded.values()[3 * V], 1.0f);
  }
}

TEST(Isolation, WritesFarOutsideAreSeenInAnyPlace) {
  ASSAY_NEEDS_FIXTURES();
  Trial past(1, 33), before(1, 33);
  const LaunchOutcome far = past.run(kernel("write_far_past"));
  EXPECT_EQ(far.ended, Ended::crashed);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_EQ(far.fault, "segmentation fault: a write at byte 16516 of the values, which have 132");
#endif
  EXPECT_EQ(before.run(kernel("write_far_before")).fault,
            "wrote far before the values: beyond their guard band");
}

TEST(Isolation, PlacementsEndWithTheirPages) {
  for (const std::size_t payload : {std::size_t{0}, std::size_t{2}, std::size_t{4096}, std::size_t{5000}})
    for (const std::size_t offset : {std::size_t{0}, std::size_t{6}}) {
      const Image image(payload, offset, 512);
      const Placement plain = place(image, false, 2, 4096);
      EXPECT_EQ(plain.image_at + image.size(), plain.slice.mapped);
      EXPECT_EQ(plain.image_at % 256, 0u);
      EXPECT_EQ(plain.slice.payload_at, plain.image_at + image.offset());
      const Placement tight = place(image, true, 2, 4096);
      EXPECT_EQ(tight.slice.payload_at + payload, tight.slice.mapped);
      EXPECT_EQ(tight.slice.mapped % 4096, 0u);
      // An alignment leaves less than itself behind the payload.
      const Placement aligned = place(image, true, 16, 4096);
      EXPECT_EQ(aligned.slice.payload_at % 16, 0u);
      EXPECT_LT(aligned.slice.mapped - aligned.slice.payload_at - payload, 16u);
      EXPECT_LE(aligned.image_at + aligned.stored, aligned.slice.mapped);
    }
  EXPECT_EQ(place(Image(), true, 4, 4096).slice.mapped, 0u);
}

TEST(Isolation, SameSizesHaveTheSameAddressesAndSlotsHaveOthers) {
  ASSAY_NEEDS_FIXTURES();
  const Variant echo = kernel("echo");
  const auto run = [&](std::int64_t V, LaunchOptions options) {
    Trial t(1, V);
    EXPECT_EQ(t.run(echo, options).fault, "");
    return std::vector<float>(t.values(), t.values() + 8);
  };
  const auto first = run(33, {}), second = run(33, {}), other = run(33, {.slot = 1});
  EXPECT_EQ(first[0], 1);
  EXPECT_EQ(second[0], 2) << "one process";
  EXPECT_EQ(first[1], second[1]);
  EXPECT_EQ(first[2], second[2]);
  EXPECT_NE(first[1], other[1]);
  run(100000, {});
  const auto again = run(33, {});
  EXPECT_EQ(first[1], again[1]);
  EXPECT_EQ(first[2], again[2]);
  echo.launcher->restart();
  EXPECT_EQ(run(33, {})[0], 1) << "a process of its own";
  // What the call says of itself.
  EXPECT_EQ(first[3], 32);
  EXPECT_EQ(first[4], 0) << "m is not asked for";
  EXPECT_EQ(first[5], sizeof(assay_call));
  EXPECT_EQ(first[6], 1);
  EXPECT_EQ(first[7], 1);
}

TEST(Isolation, TwoLaunchesAtTheSameTime) {
  ASSAY_NEEDS_FIXTURES();
  Trial a(2, 33), b(2, 33);
  const Variant v = kernel("meet");
  for (const LaunchOutcome& o : v.launcher->launch_both(v, a.problem, {&a.images, &b.images}, {}))
    EXPECT_EQ(o.fault, "");
  EXPECT_TRUE(a.right());
  EXPECT_TRUE(b.right());
  EXPECT_EQ(v.launcher->cannot({.delayed_producer = true}), "delayed_producer: host memory has no streams");
  EXPECT_EQ(v.launcher->cannot({.page_end = true}), "");
}

TEST(Isolation, WorkspaceIsAskedForAndFailuresOfThatAreReported) {
  ASSAY_NEEDS_FIXTURES();
  const Variant good = kernel("in_workspace"), broken = kernel("broken_workspace"),
                endless = kernel("endless_workspace");
  Trial t(3, 100);
  ASSERT_TRUE(good.workspace_bytes);
  EXPECT_EQ(good.workspace_bytes(t.problem), 400u);
  t.images.workspace = Image(400, 0, 512);
  for (const bool page_end : {false, true}) {
    EXPECT_EQ(t.run(good, {.page_end = page_end}).fault, "");
    EXPECT_TRUE(t.right());
  }
  EXPECT_EQ(broken.workspace_bytes(t.problem), 0u);
  Trial u(3, 100);
  const LaunchOutcome outcome = u.run(broken);
  EXPECT_EQ(outcome.ended, Ended::crashed);
  EXPECT_EQ(outcome.fault, "workspace_bytes: aborted");
  EXPECT_EQ(endless.workspace_bytes(t.problem), 0u);
  EXPECT_EQ(u.run(endless).fault, "workspace_bytes: asks for 18446744073709551615 bytes");
}

TEST(Isolation, OutputsOfAnotherType) {
  ASSAY_NEEDS_FIXTURES();
  const Variant v = kernel("quarters");
  EXPECT_EQ(v.key(), "quarters/f16:f32@plugin");
  Trial t(2, 4);
  t.problem.in = v.dtype;
  t.problem.out = v.out();
  EXPECT_EQ(t.run(v, {.page_end = true}).fault, "");
  for (int i = 0; i < 8; ++i) EXPECT_EQ(t.values()[i], 0.25f);
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

}  // namespace
}  // namespace assay::isolation

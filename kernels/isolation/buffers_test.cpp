// SPDX-License-Identifier: Apache-2.0
// The buffers of an isolated launch: where they lie, how writes past them and late writes are seen, and
// workspaces.
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "kernels/isolation/isolation_test.hpp"
#include "kernels/isolation/shared/arena.hpp"
#include "kernels/plugin.h"

namespace assay::isolation {
namespace {

TEST(Isolation, NoticesLateWrites) {
  ASSAY_NEEDS_FIXTURES();
  for (const char* name : {"late", "late_from_a_child"}) {
    // On a busy machine the late write may come before this process looks at all. Then it does not count as
    // late.
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
    // In the ordinary place the same read is not seen, and the write lands in the guard band.
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
      // With an alignment, fewer bytes than the alignment are left behind the payload.
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
  // The fields of the call itself.
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

}  // namespace
}  // namespace assay::isolation

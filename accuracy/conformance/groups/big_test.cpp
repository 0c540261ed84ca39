// SPDX-License-Identifier: Apache-2.0
// The group `big`: the judged columns of a long row represent the whole row, also for short rows; offsets
// that wrap are found; and, under the label `bigmem`, the rows beyond 2^31 and 2^32 elements themselves. Also
// how few processes the group `calls` takes on a GPU.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "accuracy/case/job.hpp"
#include "accuracy/conformance/conformance.hpp"
#include "accuracy/conformance/groups/big_buffers.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/verdict/checker.hpp"
#include "accuracy/verdict/strangers_test.hpp"
#include "kernels/adapter/compile/one_file.hpp"
#include "kernels/device.hpp"
#include "kernels/fault_kind.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/isolation/isolation_test.hpp"
#include "kernels/mutants/mutants.hpp"
#include "kernels/registry.hpp"

namespace assay::conformance {
namespace {

using isolation::fixture;

std::vector<Record> big(const Variant& v, const Narrowing& narrow, Extent extent = Extent::full) {
  ConformanceOptions o;
  o.only = {"big"};
  o.extent = extent;
  o.narrow = narrow;
  o.threads = 1;
  return run_conformance([&] { return v; }, o).records;
}
Narrowing long_row(std::int64_t V) { return {kFewFinite, {}, V, 1, {}, {}, {}}; }

std::string said(const Record& r) {
  std::string text = name(r.status) + std::string(": ") + r.reason;
  for (const CheckResult& c : r.checks)
    if (c.failed > 0) text += std::string("; ") + name(c.check) + ": " + c.detail;
  return text;
}

TEST(Big, TheColumnsOfALongRowAreJudgedLikeAnyRow) {
  for (const char* key :
       {"online_block/f32@host", "safe_topk_block/f16@host", "topk_block/f32@host", "online_warp/bf16@host",
        "naive_block/f32@host", "log_softmax_block/f32@host", "lse_block/bf16@host", "lazy_block/f32@host"}) {
    const std::vector<Record> all = big(*find_variant(key), long_row(300007));
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].status, Status::pass) << key << ": " << said(all[0]);
    EXPECT_EQ(all[0].V, 300007);
    EXPECT_EQ(all[0].rows_judged, 1);
  }
}

// In f16 arithmetic a typical output of such a row may be off by 2 %. A pass would tell nothing.
TEST(Big, ALongRowOfCoarseArithmeticIsNotJudged) {
  const std::vector<Record> all = big(*find_variant("safe_block_half/f16@host"), long_row(300007));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(too_coarse(all[0])) << said(all[0]);
}

TEST(Big, AFaultInALongRowIsNamedByItsOwnColumn) {
  // Columns counted in 16 bits: those past 65535 are never written.
  const std::vector<Record> all = big(find_mutant_of("index_of_16_bits")->variant, long_row(300007));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].status, Status::fail) << said(all[0]);
  ASSERT_TRUE(all[0].worst.has_value());
  EXPECT_GT(all[0].worst->column, 2000) << said(all[0]);
  // One of forty terms of the sum is lost, in either type.
  EXPECT_EQ(big(find_mutant_of("sum_skips_tail")->variant, long_row(300007))[0].status, Status::fail);
}

TEST(Big, OffsetsThatWrapDieOnTheHost) {
  const std::vector<Record> signed_32 = big(find_mutant_of("offset_of_int32")->variant, {}, Extent::normal);
  // Many rows beyond 2^31 elements at four lengths, beyond 2^32 at one, and one row beyond 2^24.
  ASSERT_EQ(signed_32.size(), 6u);
  for (const Record& r : signed_32)
    EXPECT_EQ(r.status, r.rows > 1 ? Status::crashed : Status::pass) << said(r);
  const std::vector<Record> unsigned_32 =
      big(find_mutant_of("offset_of_uint32")->variant, {}, Extent::normal);
  ASSERT_EQ(unsigned_32.size(), 6u);
  for (const Record& r : unsigned_32)
    EXPECT_EQ(r.status, r.rows * r.V > std::int64_t{1} << 32 ? Status::fail : Status::pass) << said(r);
}

TEST(Big, PartsComeBackAndNothingElseIsTouched) {
  ASSAY_NEEDS_FIXTURES();
  // Three rows of a plugin in host memory: parts given and parts wanted, an untouched middle, bytes after the
  // end.
  const Variant v = isolation::kernel("right");
  ASSERT_TRUE(v.launcher->launches_parts());
  Problem p;
  p.rows = 3;
  p.V = p.in_pitch = p.out_pitch = 1 << 20;
  Tensor t(v.dtype, 1, 3);
  t.set(0, 1, 1);
  BigBuffers b(v, p, -HUGE_VAL);
  for (const std::int64_t row : {0, 1, 2}) b.choose(row, t, 0, {5, 700000, 1048575});
  const PartOutcome o = v.launcher->launch_parts(v, p, b.parts(), {});
  EXPECT_TRUE(o.launch.ok()) << o.launch.fault;
  EXPECT_EQ(o.guard + o.no_room + b.changed_inputs(), "");
  for (const PartBuffer& buffer : {b.parts()[1]})
    for (std::size_t i = 0; i < buffer.wanted.size(); ++i) {
      float value = 0;
      ASSERT_EQ(buffer.wanted[i].bytes.size(), sizeof value);
      std::memcpy(&value, buffer.wanted[i].bytes.data(), sizeof value);
      EXPECT_NEAR(value, i % 3 == 1 ? 0.57611688 : 0.21194156, 1e-6) << i;
    }
  // A worker that is kept sees nothing of the launch before, and a usual launch nothing of its memory.
  Tensor one(v.dtype, 1, 3);
  const Problem few = problem_of(v, Op::softmax, 1, 3, {}, 3);
  GuardedLaunch usual(v, few, one, fitted({}, v, few));
  EXPECT_TRUE(usual.run().ok());
  PartOptions kept;
  kept.keeps_worker = true;
  const Tensor zeros(v.dtype, 1, 3);
  BigBuffers second(v, p, -HUGE_VAL);
  second.choose(0, t, 0, {5, 700000, 1048575});
  EXPECT_TRUE(v.launcher->launch_parts(v, p, second.parts(), kept).launch.ok());
  BigBuffers third(v, p, 0);
  third.choose(0, zeros, 0, {5, 700000, 1048575});
  EXPECT_TRUE(v.launcher->launch_parts(v, p, third.parts(), kept).launch.ok());
  for (const BufferPart& part : third.parts()[1].wanted) {
    float value = 0;
    std::memcpy(&value, part.bytes.data(), sizeof value);
    EXPECT_NEAR(value, 1.0 / (1 << 20), 1e-9) << "a row of equal logits";
  }
  GuardedLaunch after(v, few, one, fitted({}, v, few));
  EXPECT_EQ(after.run().late_write, "");
  // Rows cannot be chosen if every block, or none, runs.
  PartOptions some;
  some.rows = {0};
  some.rows_per_block = 1;
  EXPECT_NE(v.launcher->launch_parts(v, p, b.parts(), some).no_room, "");
}

/// Rows beyond 2^31 and 2^32 elements: gigabytes, and minutes on the executor.
TEST(Bigmem, OneRowPastBothEdgesOnTheHost) {
  int judged = 0;
  for (const char* key : {"online_block/f16@host", "online_block/f32@host"}) {
    Narrowing n;
    n.family = kFewFinite;
    for (const Record& r : big(*find_variant(key), n)) {
      EXPECT_TRUE(r.status == Status::pass || r.wants == FaultKind::memory) << key << ": " << said(r);
      judged += r.status == Status::pass;
    }
  }
  if (judged == 0) GTEST_SKIP() << "no room for a row of 2^31";
}

TEST(Bigmem, ManyRowsAndOneRowPastBothEdgesOnTheDevice) {
  if (const std::string why = unavailable_reason(Backend::cuda); !why.empty()) GTEST_SKIP() << why;
  for (const char* key : {"online_block/f16@cuda", "online_block/f32@cuda", "safe_topk_block/f16@cuda"}) {
    const std::vector<Record> all = big(*find_variant(key), {});
    // Many rows beyond 2^31 (at four lengths) and 2^32; one row beyond 2^24, 2^31 and 2^32.
    EXPECT_EQ(all.size(), 8u) << key;
    for (const Record& r : all)
      EXPECT_TRUE(r.status == Status::pass || r.wants == FaultKind::memory) << key << ": " << said(r);
  }
}

}  // namespace

// The owners of rows are found for kernels that give whole rows to blocks in turn, at the row length that is
// asked for. Every other kernel is recognised, with a reason, before anything large is run.

namespace {

Variant compiled(const char* entry, const std::vector<std::string>& args) {
  OneFile f;
  f.source = std::string(ASSAY_SOURCE_DIR) + "/accuracy/conformance/fixtures/block_owners.cu";
  f.entry = entry;
  f.args = args;
  f.host = true;
  f.build_dir =
      (std::filesystem::temp_directory_path() / ("assay-one-file-" + std::to_string(getuid()))).string();
  return load_plugin(compile_one_file(f)).at(0);
}

BlockOwners owners(const Variant& v, std::int64_t V) {
  EXPECT_TRUE(v.launcher->launches_parts());
  return block_owners(v, *v.launcher, problem_of(v, v.op, (std::int64_t{1} << 31) / V + 3, V, 1, V), 60);
}

TEST(BlockOwners, ALauncherWithoutPartsLaunchesNothing) {
  class : public HereLauncher {
    LaunchOutcome launch(const Variant&, const Problem&, Images&, const LaunchOptions&) override {
      return {};
    }
  } here;
  const Variant v = *find_variant("online_block/f32@host");
  const Problem p = problem_of(v, v.op, 512, 33, 1, 33);
  BigBuffers b(v, p, 0);
  const PartOutcome o = here.launch_parts(v, p, b.parts(), {});
  EXPECT_EQ(o.launch.fault, "it makes no launches in parts");
  EXPECT_EQ(o.launch.ended, Ended::fault);
  // It does not count against the kernel.
  const BlockOwners none = block_owners(v, here, p, 60);
  EXPECT_TRUE(none.seen.ok()) << none.seen.fault;
  EXPECT_EQ(none.why.sentence, o.launch.fault);
}

TEST(BlockOwners, RowsInTurnAreToldAtTheirOwnLength) {
  const Variant v = compiled("void by_length(const float* in, float* out, int rows, int V)", {});
  EXPECT_EQ(owners(v, 1024).rows_per_block, 4) << owners(v, 1024).why.sentence;
  EXPECT_EQ(owners(v, 64).rows_per_block, 128) << owners(v, 64).why.sentence;
  const Variant few = compiled("void capped(const float* in, float* out, int rows, int V)", {});
  EXPECT_EQ(owners(few, 256).rows_per_block, 1) << owners(few, 256).why.sentence;
}

TEST(BlockOwners, OtherKernelsAreToldApart) {
  const struct {
    const char* entry;
    std::vector<std::string> args;
    const char* why;
  } all[] = {
      {"void one_block(const float* in, float* out, int rows, int V)", {}, "writes all of 1536 rows"},
      {"void in_shares(const float* in, float* out, int rows, int V)", {}, "with 524287 rows"},
      {"void shares_of_many(const float* in, float* out, int rows, int V)", {}, "with 2097155 rows"},
      {"void by_elements(const float* in, float* out, float* workspace, int rows, int V)",
       {"workspace_bytes=rows * 8"},
       "neither whole nor untouched"},
      {"void by_columns(const float* in, float* out, float* workspace, int rows, int V)",
       {"workspace_bytes=rows * 8"},
       "neither whole nor untouched"},
      {"void two_shapes(const float* in, float* out, float* workspace, int rows, int V)",
       {"workspace_bytes=rows * 8"},
       "neither whole nor untouched"},
      {"void in_place(float* x, int rows, int V)", {}, "neither whole nor untouched"},
      {"void wide_indices(const float* in, float* values, int64_t* indices, int rows, int V)",
       {"k=1"},
       "neither whole nor untouched"},
  };
  for (const auto& e : all) {
    const BlockOwners o = owners(compiled(e.entry, e.args), 1024);
    EXPECT_EQ(o.rows_per_block, 0) << e.entry;
    EXPECT_EQ(o.why.why, Why::executor) << e.entry;
    EXPECT_TRUE(o.why.sentence.starts_with("executor: ")) << e.entry << ": " << o.why.sentence;
    EXPECT_NE(o.why.sentence.find(e.why), std::string::npos) << e.entry << ": " << o.why.sentence;
  }
}

TEST(BlockOwners, AFaultThatIsSeenIsAFailure) {
  const struct {
    const char* entry;
    Status status;
    const char* words;
  } all[] = {
      {"void crashes_of_many(const float* in, float* out, int rows, int V)", Status::crashed,
       "a launch of 1536 rows of 1024 columns: segmentation fault"},
      {"void nothing_of_many(const float* in, float* out, int rows, int V)", Status::fail,
       "a launch of 1536 rows of 1024 columns: row 0 was never written"},
  };
  for (const auto& e : all) {
    const Variant v = compiled(e.entry, {});
    ConformanceOptions o;
    o.only = {"big"};
    o.threads = 1;
    o.narrow.V = 1024;
    for (const Record& r : run_conformance([&] { return v; }, o).records) {
      EXPECT_EQ(r.status, e.status) << e.entry << ": " << r.reason;
      const auto said =
          std::find_if(r.checks.begin(), r.checks.end(), [](const CheckResult& c) { return c.failed > 0; });
      ASSERT_NE(said, r.checks.end()) << e.entry;
      EXPECT_TRUE(said->detail.starts_with(e.words)) << said->detail;
    }
    // The rows are judged by cases of their own there.
    o = {};
    o.only = {"rows"};
    o.extent = Extent::quick;
    o.threads = 1;
    const auto rows = run_conformance([&] { return v; }, o).records;
    EXPECT_GE(std::count_if(rows.begin(), rows.end(),
                            [&](const Record& r) { return r.status == e.status && r.rows > 1030; }),
              2)
        << e.entry;
  }
}

TEST(BlockOwners, AVerdictIsGivenOnlyWhereTheyAreTold) {
  const auto big = [](const Variant& v) {
    ConformanceOptions o;
    o.only = {"big"};
    o.threads = 1;
    o.narrow.V = 1024;
    return run_conformance([&] { return v; }, o).records;
  };
  for (const Record& r : big(compiled("void by_length(const float* in, float* out, int rows, int V)", {})))
    EXPECT_EQ(r.status, Status::pass) << r.rows << " rows: " << r.reason;
  for (const Record& r : big(compiled("void by_chunks(const float* in, float* out, int rows, int V)", {})))
    EXPECT_EQ(r.status, Status::pass) << r.rows << " rows: " << r.reason;
  for (const Record& r :
       big(compiled("void rows_left_out(const float* in, float* out, int rows, int V)", {})))
    EXPECT_EQ(r.status, r.rows > 1000000 ? Status::fail : Status::pass) << r.rows << " rows: " << r.reason;
  for (const Record& r : big(compiled("void in_place(float* x, int rows, int V)", {}))) {
    EXPECT_EQ(r.status, Status::unsupported) << r.reason;
    EXPECT_TRUE(r.reason.starts_with("executor: ")) << r.reason;
  }
}

/// Counts its processes. It runs the kernel here, with 5 % added to each output if it is wrong.
class OnAGpu final : public HereLauncher {
 public:
  OnAGpu(Variant inner, bool wrong) : inner_(std::move(inner)), wrong_(wrong) {}
  LaunchOutcome launch(const Variant&, const Problem& p, Images& images, const LaunchOptions& o) override {
    Variant v = inner_;
    if (wrong_)
      v.run = [run = inner_.run](const Problem& problem, const Buffers& b, const Stream& s) {
        run(problem, b, s);
        if (problem.op != Op::softmax) return;
        for (std::int64_t i = 0; i < problem.rows * problem.V; ++i) static_cast<float*>(b.probs)[i] *= 1.05f;
      };
    return assay::launch(v, p, images, o);
  }
  bool on_device() const override { return true; }
  void restart() override { ++processes; }

  int processes = 0;

 private:
  Variant inner_;
  bool wrong_;
};

// A context on a device takes longer than all of the calls.
TEST(QuickOnAGpu, CallsFollowOneAnotherInOneProcess) {
  for (const bool wrong : {false, true}) {
    Variant v = *find_variant("safe_block/f32@host");
    const auto launcher = std::make_shared<OnAGpu>(v, wrong);
    v.launcher = launcher;
    v.run = {};
    const std::vector<Unit> units = plan_calls({v, Extent::quick, {}, 1, false});
    ASSERT_EQ(units.size(), 1u);
    EXPECT_EQ(units[0].cases[0].setup, assay::Setup(SetupKind::small_large_small))
        << "buffers may grow with its calls";
    EXPECT_GE(units[0].cases.size(), 9u);
    EXPECT_GT(plan_calls({v, Extent::normal, {}, 1, false}).size(), 8u);
    ConformanceOptions o;
    o.extent = Extent::quick;
    o.only = {"calls"};
    o.threads = 1;
    for (const Record& r : run_conformance([&] { return v; }, o).records)
      EXPECT_EQ(r.status, wrong ? Status::fail : Status::pass) << r.reproduce;
    // One case of each row length shows that the kernel is wrong by itself.
    EXPECT_GE(launcher->processes, 1);
    EXPECT_LE(launcher->processes, wrong ? 5 : 1);
  }
}

}  // namespace
}  // namespace assay::conformance

// SPDX-License-Identifier: Apache-2.0
// The rig of a GPU, if there is one: it times and verifies right kernels, finds planted faults, and measures
// ceilings. Its buffers are as the records say.
#include "kernels/device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "accuracy/case/job.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/python/python_test.hpp"
#include "reference/test_folder.hpp"
#include "reports/data/files.hpp"
#include "reports/sweep/engine.hpp"
#include "reports/sweep/rig/rig.hpp"
#include "reports/sweep/subjects.hpp"

namespace assay {
namespace {

class SweepDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = unavailable_reason(Backend::cuda); !why.empty()) GTEST_SKIP() << why;
  }

  SweepResult run(std::vector<std::string> keys, std::vector<std::int64_t> sizes,
                  std::vector<std::int64_t> rows) const {
    SweepSelection s;
    s.keys = std::move(keys);
    s.sizes = std::move(sizes);
    s.rows = std::move(rows);
    return run_sweep(make_sweep_plan(s), options_, folder_);
  }

  /// What the sweep says of these kernels, without its ceilings.
  std::vector<SweepRecord> times_of(const std::vector<Subject>& subjects,
                                    std::vector<std::int64_t> sizes) const {
    SweepSelection s;
    for (const Subject& one : subjects) s.others.push_back(&one);
    s.sizes = std::move(sizes);
    s.rows = {10, 4000};
    std::vector<SweepRecord> out;
    for (const SweepRecord& r : run_sweep(make_sweep_plan(s), options_, folder_).records)
      if (r.role == "variant") out.push_back(r);
    return out;
  }

  TestFolder own_;
  const std::filesystem::path& folder_ = own_.path();
  SweepOptions options_;
};

TEST_F(SweepDevice, TimesAndVerifiesEveryKey) {
  const SweepResult r = run({"*@cuda"}, {63, 1000, 4097}, {10, 4000});
  EXPECT_TRUE(sweep_passed(r)) << sweep_outcome(r);
  bool copies = false, reads = false, empties = false;
  for (const SweepRecord& one : r.records) {
    if (!one.timed()) continue;
    copies |= one.op == "copy";
    reads |= one.op == "read";
    empties |= one.op == "empty";
    ASSERT_TRUE(one.median_us) << one.key;
    EXPECT_GT(*one.median_us, 0) << one.key;
    EXPECT_FALSE(one.cold.empty());
    if (one.role == "ceiling") continue;
    EXPECT_TRUE(one.copy_us && one.read_us && one.empty_us) << one.key;
    EXPECT_NE(one.verified, Status::fail) << one.key;
    EXPECT_TRUE(one.verified != Status::pass || one.verified_elements > 0) << one.key;
  }
  EXPECT_TRUE(copies && reads && empties);
  const auto median = [&](const std::string& op) {
    for (const SweepRecord& one : r.records)
      if (one.op == op) return one.median_us.value_or(0);
    return 0.0;
  };
  EXPECT_LE(median("copy"), median("memcpy"));
}

/// Kernels of a shared object, which are launched and timed in a worker.
class SweepWorker : public SweepDevice {
 protected:
  void SetUp() override {
    SweepDevice::SetUp();
    if (!std::filesystem::exists(file())) GTEST_SKIP() << "the fixtures are not on this machine";
  }
  static std::string file() { return std::string(ASSAY_FIXTURES) + "/fixture_device.so"; }
  std::vector<SweepRecord> times_of(const std::vector<std::string>& names, double timeout = 20) {
    std::vector<Subject> subjects;
    for (const std::string& n : names)
      subjects.push_back({load_plugin(file() + "#" + n, {.timeout_seconds = timeout}).at(0)});
    return SweepDevice::times_of(subjects, {63, 1000});
  }
};

TEST_F(SweepWorker, TimesAKernelOfAFileAsOneOfThisProgram) {
  for (const SweepRecord& r : times_of({"right", "declared_default", "default_stream"})) {
    // One that does not say that it takes no stream is timed only where the default one is drawn.
    if (r.key.starts_with("default_stream") && r.status == Status::unsupported) {
      EXPECT_NE(r.reason.find("was not seen on the stream"), std::string::npos) << r.reason;
      continue;
    }
    ASSERT_EQ(r.status, Status::pass) << r.key << ": " << r.reason;
    EXPECT_TRUE(r.fastest_us) << r.key;
    EXPECT_LE(share_of_fastest(r).value_or(9), kMostShare) << r.key;
    EXPECT_EQ(r.backend, "cuda");
    EXPECT_GT(r.median_us.value_or(0), r.empty_us.value_or(1e9) / 2) << r.key;
    EXPECT_TRUE(r.copy_us && r.share_of_copy) << r.key;
    EXPECT_NE(r.verified, Status::fail) << r.verified_reason;
    EXPECT_FALSE(r.cold.empty());
  }
}

TEST_F(SweepWorker, ACrashOrAHangIsARecordAndTheNextKernelIsTimed) {
  int broken = 0, timed = 0;
  for (const SweepRecord& r : times_of({"write_null", "trap", "hang", "bad_launch", "right"}, 2)) {
    const auto says = [&](const char* words) { return r.reason.find(words) != std::string::npos; };
    if (r.key.starts_with("right")) {
      EXPECT_EQ(r.status, Status::pass) << r.reason;
      ++timed;
      continue;
    }
    ++broken;
    EXPECT_FALSE(r.median_us) << r.key;
    if (r.key.starts_with("bad_launch"))
      EXPECT_TRUE(r.status == Status::unsupported && says("returned status")) << status_word(r) << r.reason;
    else
      EXPECT_TRUE(r.status == Status::fail && says("while it was timed"))
          << r.key << status_word(r) << r.reason;
  }
  EXPECT_EQ(broken, 16);
  EXPECT_EQ(timed, 4);
}

TEST_F(SweepWorker, WhoIsRightOnlyWhenNotTimedIsAFailure) {
  for (const SweepRecord& r : times_of({"skips_done_rows", "hides"})) {
    if (r.rows == 10 && r.key.starts_with("hides")) continue;  // too short to tell
    EXPECT_EQ(r.status, Status::fail) << r.key << " " << r.rows << " " << r.V << ": " << r.reason;
    EXPECT_EQ(r.verified, Status::fail) << r.key;
    EXPECT_FALSE(r.median_us) << r.key;
  }
}

// Every set has other logits, and every row of them is found again.
TEST_F(SweepWorker, TurnedRowsAreJudgedWhereTheyLie) {
  const Variant v = load_plugin(file() + "#right", {.timeout_seconds = 20}).at(0);
  SweepInputs inputs("normal_1", 1);
  for (const auto& [rows, V] :
       {std::pair<std::int64_t, std::int64_t>{100, 65536}, {33, 1001}, {4000, 1000}, {1, 4096}}) {
    const auto rig = make_device_rig();
    const Problem p = problem_of(v, v.op, rows, V, 0, V);
    rig->prepare(v, p, inputs.tile(p.in, p.V, p.rows));
    ASSERT_TRUE(rig->renews());
    rig->poison();
    rig->run_us(1);
    ASSERT_TRUE(rig->remember());
    for (std::uint64_t draw = 0; draw < 12; ++draw) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(V) + ", draw " + std::to_string(draw));
      rig->use_own_stream(draw % 2 == 0);
      rig->renew(draw);
      EXPECT_TRUE(rig->logits_intact());
      rig->run_us(3);
      rig->choose(draw);
      EXPECT_TRUE(rig->logits_intact());
      EXPECT_TRUE(rig->as_remembered());
      std::int64_t open_rows = 0;
      const FastJudgement j = rig->judge(5, open_rows);
      EXPECT_EQ(j.failed, 0) << j.first_failure;
      EXPECT_EQ(j.elements, rows * V);
      ASSERT_TRUE(rig->clocks());
      EXPECT_GT(rig->clocks()->waited_us, rig->clocks()->said_us);
    }
  }
}

/// Callables of Python, which are launched and timed in a worker, too.
class SweepPython : public SweepDevice {
 protected:
  std::vector<SweepRecord> times_of(const std::string& file, const std::vector<std::string>& functions) {
    std::vector<Subject> subjects;
    for (const std::string& f : functions) subjects.push_back({load_python(callable(file, f)).at(0)});
    return SweepDevice::times_of(subjects, {1000, 32768});
  }
};

TEST_F(SweepPython, TimesTheKernelsAndNotTheInterpreter) {
  ASSAY_NEEDS_PYTHON("torch");
  const std::vector<SweepRecord> all = times_of("torch_rows.py", {"eager", "into", "compiled"});
  ASSERT_EQ(all.size(), 12u);
  for (const SweepRecord& r : all) {
    ASSERT_EQ(r.status, Status::pass) << r.key << ": " << r.reason;
    EXPECT_GT(r.median_us.value_or(0), r.empty_us.value_or(1e9) / 2) << r.key;
    EXPECT_LT(r.share_of_copy.value_or(9), 2) << r.key << ": faster than a copy can be";
    EXPECT_NE(r.verified, Status::fail) << r.key << ": " << r.verified_reason;
  }
}

TEST_F(SweepPython, ARawTensorThatIsReturnedIsNotTimedAndOneThatIsWrittenIs) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const std::string library = std::string(ASSAY_FIXTURES) + "/fixture_device.so";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << "the fixtures are not on this machine";
  setenv("ASSAY_DEVICE_FIXTURE", library.c_str(), 1);
  setenv("ASSAY_KEEP_ENV", "ASSAY_DEVICE_FIXTURE", 1);
  for (const SweepRecord& r : times_of("device_rows.py", {"same", "right"})) {
    const bool returned = r.key.starts_with("same");
    EXPECT_EQ(r.status, returned ? Status::unsupported : Status::pass) << r.key << ": " << r.reason;
    EXPECT_EQ(r.reason.find("returns a raw tensor") != std::string::npos, returned) << r.reason;
  }
}

TEST_F(SweepDevice, MeasuresTheCeilingsAgain) {
  run({"online_block/f32@cuda"}, {4096}, {100});
  const auto ceilings = [this] {
    std::vector<SweepRecord> out;
    for (const SweepRecord& one : read_facts<SweepRecord>(folder_ / "sweep.jsonl"))
      if (one.role == "ceiling") out.push_back(one);
    return out;
  };
  const std::vector<SweepRecord> before = ceilings();
  ASSERT_EQ(before.size(), 4u) << "copy, memcpy, read and empty launch";
  for (const SweepRecord& one : before) {
    EXPECT_FALSE(one.cold.empty()) << one.key;
    // An empty launch moves no bytes, so it has no share of the copy.
    EXPECT_EQ(one.share_of_copy.has_value(), one.op != "empty") << one.key;
    EXPECT_EQ(one.gb_per_s.has_value(), one.op != "empty") << one.key;
  }
  options_.again = true;
  run({"online_block/f32@cuda"}, {4096}, {100});
  const std::vector<SweepRecord> after = ceilings();
  ASSERT_EQ(after.size(), 4u);
  bool another = false;
  for (std::size_t i = 0; i < 4; ++i) another |= after[i].times_us != before[i].times_us;
  EXPECT_TRUE(another) << "not one of all samples differs: they are the old ones";
}

TEST_F(SweepDevice, JudgesAllElementsTwice) {
  const SweepResult r = run({"online_block/f32@cuda"}, {4099}, {257});
  const auto kernel = std::find_if(r.records.begin(), r.records.end(),
                                   [](const SweepRecord& one) { return one.role == "variant"; });
  ASSERT_NE(kernel, r.records.end());
  EXPECT_EQ(kernel->verified_elements, 2 * 4099 * 257);
  EXPECT_TRUE(kernel->max_ulp && kernel->max_utilisation);
}

TEST_F(SweepDevice, NeverTimesAPlantedFaultAsGood) {
  const SweepResult r = run({"mutant.no_rescale/f32@cuda"}, {1000}, {100});
  EXPECT_FALSE(sweep_passed(r));
  ASSERT_FALSE(r.records.empty());
  EXPECT_EQ(r.records[0].status, Status::fail);
  EXPECT_FALSE(r.records[0].median_us);
}

TEST_F(SweepDevice, KnowsChangedLogits) {
  const Subject* const subject = find_subject("safe_block/f16@cuda");
  ASSERT_NE(subject, nullptr);
  // A kernel that writes its outputs over its logits.
  Variant over = subject->variant;
  over.run = [run = subject->variant.run](const Problem& p, const Buffers& b, const Stream& s) {
    Buffers same = b;
    same.probs = const_cast<void*>(b.logits);
    run(p, same, s);
  };
  const auto rig = make_device_rig();
  SweepInputs inputs("normal_1", 1);
  Problem p;
  p.in = p.out = Dtype::f16;
  p.rows = 33;
  p.V = p.in_pitch = p.out_pitch = 1001;
  rig->prepare(subject->variant, p, inputs.tile(p.in, p.V, p.rows));
  rig->run_us(1);
  EXPECT_TRUE(rig->logits_intact());
  rig->prepare(over, p, inputs.tile(p.in, p.V, p.rows));
  rig->run_us(1);
  EXPECT_FALSE(rig->logits_intact());
  rig->prepare(subject->variant, p, inputs.tile(p.in, p.V, p.rows));
  rig->run_us(1);
  EXPECT_TRUE(rig->logits_intact()) << "logits are filled again after somebody changed them";
  EXPECT_TRUE(rig->alive());
}

// 64 rows are distinct, 36 repeat them. A row that was not written is seen among those, too.
TEST_F(SweepDevice, JudgesRepeatedRowsByTheirBits) {
  const Subject* const subject = find_subject("online_block/f32@cuda");
  ASSERT_NE(subject, nullptr);
  Variant forgets = subject->variant;
  forgets.run = [run = subject->variant.run](const Problem& p, const Buffers& b, const Stream& s) {
    Problem fewer = p;
    fewer.rows -= 1;
    run(fewer, b, s);
  };
  SweepInputs inputs("normal_1", 1);
  Problem p;
  p.rows = 100;
  p.V = p.in_pitch = p.out_pitch = 65536;
  ASSERT_EQ(inputs.distinct_rows(p.V, p.rows), 64);
  const auto rig = make_device_rig();
  std::int64_t open_rows = 0;
  rig->prepare(subject->variant, p, inputs.tile(p.in, p.V, p.rows));
  rig->poison();
  rig->run_us(1);
  const FastJudgement right = rig->judge(5, open_rows);
  EXPECT_EQ(right.failed, 0) << right.first_failure;
  EXPECT_EQ(right.elements, p.rows * p.V);
  EXPECT_EQ(open_rows, 0);
  EXPECT_TRUE(rig->remember());
  rig->poison();
  EXPECT_FALSE(rig->as_remembered());
  rig->run_us(3);
  EXPECT_TRUE(rig->as_remembered());

  rig->prepare(forgets, p, inputs.tile(p.in, p.V, p.rows));
  rig->poison();
  rig->run_us(1);
  EXPECT_GT(rig->judge(5, open_rows).failed, 0);
  EXPECT_FALSE(rig->as_remembered());
}

TEST_F(SweepDevice, RefusesWhatDoesNotFit) {
  const SweepResult r = run({"online_block/f32@cuda"}, {std::int64_t{1} << 26}, {std::int64_t{1} << 20});
  EXPECT_EQ(r.n[Status::unsupported], 1) << sweep_outcome(r);
}

}  // namespace
}  // namespace assay

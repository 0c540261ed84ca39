// SPDX-License-Identifier: Apache-2.0
// The sweep on the host executor, from plan to file: the records of right kernels and of a planted fault,
// what a second run does with them, and how a budget ends it. No test asserts a time.
#include "reports/sweep/engine.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/isolation/process/process.hpp"
#include "reference/error.hpp"
#include "reference/test_folder.hpp"
#include "reports/cli/commands.hpp"
#include "reports/data/files.hpp"
#include "reports/sweep/data/record.hpp"

namespace assay {
namespace {

class SweepEngine : public testing::Test {
 protected:
  static std::vector<SweepJob> plan_of(std::vector<std::string> keys, std::vector<std::int64_t> sizes) {
    SweepSelection s;
    s.keys = std::move(keys);
    s.sizes = std::move(sizes);
    s.rows = {3};
    s.k = {5};
    return make_sweep_plan(s);
  }
  SweepResult run(const std::vector<SweepJob>& plan) const { return run_sweep(plan, options_, folder_); }
  std::vector<SweepRecord> file() const { return read_facts<SweepRecord>(folder_ / "sweep.jsonl"); }

  TestFolder own_;
  const std::filesystem::path& folder_ = own_.path();
  SweepOptions options_;
};

int call_engine(std::vector<const char*> words) {
  words.insert(words.begin(), {"assay", "sweep"});
  return run_assay(static_cast<int>(words.size()), words.data());
}

TEST_F(SweepEngine, TimesAndVerifiesEveryOp) {
  const std::vector<std::string> keys = {"online_block/f32@host",       "naive_block/f16@host",
                                         "safe_block_half/f16@host",    "topk_block/f32@host",
                                         "online_topk_block/bf16@host", "log_softmax_block/f32@host",
                                         "lse_block/f16@host",          "safe_then_topk/f32@host"};
  const SweepResult r = run(plan_of(keys, {63}));
  EXPECT_TRUE(sweep_passed(r));
  EXPECT_EQ(r.measured(), static_cast<std::int64_t>(keys.size()));
  ASSERT_EQ(file().size(), keys.size());
  for (const SweepRecord& one : file()) {
    EXPECT_EQ(one.status, Status::pass) << one.key << one.reason;
    // f16 arithmetic is too coarse to be judged.
    const bool coarse = one.key == "safe_block_half/f16@host";
    EXPECT_EQ(one.verified, coarse ? Status::unsupported : Status::pass) << one.key << one.verified_reason;
    EXPECT_TRUE(coarse || one.verified_elements > 0) << one.key;
    EXPECT_TRUE(coarse || one.max_ulp || one.op == "topk") << one.key;
    EXPECT_EQ(one.samples, static_cast<std::int64_t>(one.times_us.size()));
    EXPECT_GE(one.samples, 1);
    EXPECT_LE(one.samples, 30);
    ASSERT_TRUE(one.median_us && one.p10_us && one.p90_us && one.copy_us && one.read_us) << one.key;
    EXPECT_LE(*one.p10_us, *one.median_us);
    EXPECT_LE(*one.median_us, *one.p90_us);
    EXPECT_FALSE(one.empty_us) << "the host has no empty launch";
    EXPECT_EQ(one.backend, "host");
    EXPECT_FALSE(one.gpu.empty());
    EXPECT_FALSE(one.cold.empty());
    EXPECT_EQ(one.distinct_rows, 3);
  }
}

TEST_F(SweepEngine, CountsBytesByTheProblem) {
  const SweepResult r = run(plan_of({"online_block/f16@host", "online_topk_block/f32@host"}, {1000}));
  ASSERT_EQ(r.records.size(), 2u);
  for (const SweepRecord& one : r.records)
    EXPECT_EQ(one.bytes, one.k == 0 ? 3 * 1000 * (2 + 2) : 3 * (1000 * 4 + 5 * (4 + 4))) << one.key;
}

TEST_F(SweepEngine, HoldsNoClaimOfAccessesAgainstLargeSets) {
  SweepSelection s;
  s.keys = {"online_block/f32@host", "onepass_top_p/f32@host"};
  s.sizes = {63};
  s.rows = {3};
  const SweepResult r = run(make_sweep_plan(s));
  ASSERT_GE(r.records.size(), 2u);
  for (const SweepRecord& one : r.records)
    EXPECT_EQ(one.claimed_loads.has_value(), one.op == "softmax") << one.key << " k = " << one.k;
}

TEST_F(SweepEngine, NeverTimesAPlantedFaultAsGood) {
  const SweepResult r = run(plan_of({"mutant.no_rescale/f32@host", "online_block/f32@host"}, {129}));
  EXPECT_FALSE(sweep_passed(r));
  EXPECT_EQ(r.n[Status::fail], 1);
  EXPECT_EQ(r.measured(), 1);
  for (const SweepRecord& one : file())
    if (one.key == "mutant.no_rescale/f32@host") {
      EXPECT_EQ(one.status, Status::fail);
      EXPECT_EQ(one.verified, Status::fail);
      EXPECT_FALSE(one.reason.empty());
      EXPECT_TRUE(one.times_us.empty());
      EXPECT_FALSE(one.median_us);
    }
  EXPECT_EQ(sweep_outcome(r).rfind("FAIL", 0), 0u);
  EXPECT_NE(sweep_outcome(r).find("mutant.no_rescale"), std::string::npos);
}

// Its outputs differ from those that were judged before the timing, so they are judged, too.
TEST_F(SweepEngine, KnowsOutputsThatGoWrongWhileTheyAreTimed) {
  const SweepResult r = run(plan_of({"mutant.right_for_ten_calls/f32@host"}, {129}));
  EXPECT_EQ(r.n[Status::fail], 1);
  ASSERT_EQ(file().size(), 1u);
  EXPECT_EQ(file()[0].verified, Status::fail);
  EXPECT_NE(file()[0].reason.find("verification"), std::string::npos) << file()[0].reason;
  EXPECT_TRUE(file()[0].times_us.empty());
}

// Judged on another thread, a configuration has the same record, in the same place.
TEST_F(SweepEngine, JudgesOnOtherThreadsAsOnItsOwn) {
  const std::vector<std::string> keys = {"lse_block/f16@host",    "mutant.lse_sum_skips_last/f32@host",
                                         "topk_block/f32@host",   "log_softmax_block/f32@host",
                                         "online_block/f32@host", "online_topk_block/f16@host"};
  const auto plan = plan_of(keys, {129, 1000});
  run(plan);
  const std::vector<SweepRecord> alone = file();
  options_.again = options_.judge_beside_host = true;
  run(plan);
  const std::vector<SweepRecord> beside = file();
  ASSERT_EQ(alone.size(), plan.size());
  ASSERT_EQ(beside.size(), plan.size());
  EXPECT_EQ(std::count_if(beside.begin(), beside.end(),
                          [](const SweepRecord& r) { return r.status == Status::fail; }),
            2);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    EXPECT_EQ(identity(beside[i]), identity(blank_sweep_record(plan[i], options_)));
    EXPECT_EQ(beside[i].status, alone[i].status) << beside[i].key << ": " << beside[i].reason;
    EXPECT_EQ(beside[i].verified, alone[i].verified) << beside[i].key;
    EXPECT_EQ(beside[i].verified_elements, alone[i].verified_elements) << beside[i].key;
    EXPECT_EQ(beside[i].max_ulp, alone[i].max_ulp) << beside[i].key;
    EXPECT_EQ(beside[i].times_us.empty(), beside[i].status == Status::fail) << beside[i].key;
  }
}

TEST_F(SweepEngine, SaysWhereItsTimeWent) {
  const SweepResult r = run(plan_of({"online_block/f32@host", "lse_block/f16@host"}, {1000}));
  EXPECT_GT(r.seconds.timing, 0);
  EXPECT_GT(r.seconds.verification, 0);
  EXPECT_GE(r.seconds.rest(), 0) << "no second is counted twice";
  EXPECT_NE(sweep_outcome(r).find("seconds: "), std::string::npos);
}

TEST_F(SweepEngine, KnowsChangedLogits) {
  const SweepResult r = run(plan_of({"mutant.inputs_overwritten/f32@host"}, {129}));
  EXPECT_EQ(r.n[Status::fail], 1);
  EXPECT_FALSE(sweep_passed(r));
}

TEST_F(SweepEngine, DoesNotBeginWhatCanNotFit) {
  SweepSelection s;
  s.keys = {"online_block/f32@host"};
  s.sizes = {std::int64_t{1} << 26};
  s.rows = {std::int64_t{1} << 20};
  const SweepResult r = run(make_sweep_plan(s));
  EXPECT_EQ(r.n[Status::unsupported], 1);
  EXPECT_FALSE(sweep_passed(r)) << "nothing was timed";
}

TEST_F(SweepEngine, SkipsWhatTheFolderHasAndGoesOnAfterATornLine) {
  const auto plan = plan_of({"online_block/f32@host"}, {63, 65});
  run(plan);
  const std::string before = read_file(folder_ / "sweep.jsonl");
  // The second record is lost, except for half of its line.
  const std::size_t first = before.find('\n') + 1;
  write_files({{folder_ / "sweep.jsonl", before.substr(0, first + 99)}});
  const SweepResult r = run(plan);
  EXPECT_EQ(r.had, 1);
  EXPECT_EQ(r.measured(), 2);
  EXPECT_EQ(file().size(), 2u);
  EXPECT_EQ(read_file(folder_ / "sweep.jsonl").substr(0, first), before.substr(0, first));
  EXPECT_EQ(run(plan).had, 2);
  options_.again = true;
  EXPECT_EQ(run(plan).had, 0);
  EXPECT_EQ(file().size(), 2u);
}

TEST_F(SweepEngine, BeginsNothingBesideAPackedFile) {
  const auto plan = plan_of({"online_block/f32@host"}, {63});
  write_files({{folder_ / "sweep.jsonl.gz", "packed"}});
  try {
    run(plan);
    ADD_FAILURE() << "the packed records would be lost";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("sweep.jsonl.gz: is packed"), std::string::npos) << e.what();
  }
  write_files({{folder_ / "sweep.jsonl", ""}});
  EXPECT_EQ(run(plan).measured(), 1);
}

TEST_F(SweepEngine, LeavesWhatABudgetDoesNotReachNotRun) {
  const auto plan = plan_of({"online_block/f32@host"}, {63, 64, 65});
  options_.budget_seconds = 1e-9;
  const SweepResult stopped = run(plan);
  EXPECT_EQ(stopped.n[Status::not_run], 3);
  EXPECT_FALSE(sweep_passed(stopped)) << "nothing was timed";
  options_.budget_seconds = 0;
  const SweepResult r = run(plan);
  EXPECT_EQ(r.had, 0);
  EXPECT_EQ(r.measured(), 3);
  EXPECT_EQ(file().size(), 3u);
}

TEST_F(SweepEngine, RefusesAFolderOfAnotherMachine) {
  const auto plan = plan_of({"online_block/f32@host"}, {63});
  SweepRecord other = run(plan).records.at(0);
  other.gpu = "another CPU";
  other.V = 1;
  write_files({{folder_ / "sweep.jsonl", fact_line(other)}});
  EXPECT_THROW(run(plan), InputError);
}

TEST_F(SweepEngine, MergesPeersThatLieInTheFolder) {
  SweepRecord peer = blank_sweep_record(plan_of({"online_block/f32@host"}, {63}).at(0), options_);
  peer.key = "torch_softmax/f32@cuda";
  peer.role = "peer";
  write_files({{folder_ / "peers.jsonl", fact_line(peer)}});
  const SweepResult r = run(plan_of({"online_block/f32@host"}, {63}));
  ASSERT_EQ(r.records.size(), 2u);
  EXPECT_EQ(r.records[1].key, "torch_softmax/f32@cuda");
  EXPECT_EQ(r.planned, 1);
}

TEST(SweepPlan, HoldsWhatFiltersNameAndNothingElse) {
  SweepSelection s;
  s.keys = {"online_*/f32@host"};
  s.sizes = {7};
  s.rows = {2, 4};
  for (const SweepJob& j : make_sweep_plan(s)) {
    EXPECT_EQ(j.V, 7);
    EXPECT_EQ(j.subject->variant.dtype, Dtype::f32);
    // A set has k = 5. A k larger than V is never planned.
    EXPECT_EQ(j.pick.k, selects(j.subject->variant.op) ? 5 : 0);
  }
  s.sizes = {3};
  for (const SweepJob& j : make_sweep_plan(s)) EXPECT_EQ(j.pick.k, 0);
}

TEST(SweepPlan, BeginsWithTheReferenceKernels) {
  SweepSelection s;
  s.host = true;
  s.keys = {"*@host"};
  const std::vector<SweepJob> plan = make_sweep_plan(s);
  EXPECT_EQ(plan.front().subject->variant.dtype, Dtype::f32);
  EXPECT_NE(plan.front().subject->variant.variant.find("_block"), std::string::npos);
}

TEST_F(SweepEngine, ComparesWithAnOlderSweep) {
  const std::string out = folder_.string(), old = (folder_ / "old.jsonl").string();
  ASSERT_EQ(call_engine({"--key", "online_block/f32@host", "--V", "63", "--rows", "2", "--out", out.c_str()}),
            kPassed);
  // Once ten times as fast as before, once ten times as slow. A configuration that was not requested is not
  // lost.
  std::vector<SweepRecord> before = file();
  for (SweepRecord& r : before)
    for (double& t : r.times_us) t *= 10;
  const auto against = [&] {
    std::string text;
    for (const SweepRecord& r : before) text += fact_line(r);
    write_files({{old, text}});
    return call_engine({"--key", "online_block/f32@host", "--V", "63", "--rows", "2", "--out", out.c_str(),
                        "--compare", old.c_str()});
  };
  EXPECT_EQ(against(), kPassed);
  for (SweepRecord& r : before)
    for (double& t : r.times_us) t /= 100;
  EXPECT_EQ(against(), kFailed);
}

// If Python has no PyTorch (-S: no packages at all), each peer gives one record that says so and can be read
// back. The script asks `assay sweep rules` first, and ends with an error where the two name different rules.
TEST_F(SweepEngine, PeersThatCanNotRunSaySo) {
  if (std::system("python3 --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no python3";
  const std::string script = std::string(ASSAY_SOURCE_DIR) + "/reports/sweep/peers.py";
  const std::string line = "python3 -I -S -B '" + script + "' --out '" + folder_.string() + "' --assay '" +
                           isolation::worker_executable("") + "' > /dev/null 2>&1";
  for (int time = 0; time < 2; ++time) {
    ASSERT_EQ(std::system(line.c_str()), 0);
    const std::vector<SweepRecord> peers = read_facts<SweepRecord>(folder_ / "peers.jsonl");
    ASSERT_EQ(peers.size(), 10u);
    for (const SweepRecord& r : peers) {
      EXPECT_EQ(r.role, "peer");
      EXPECT_EQ(r.status, Status::not_run);
      EXPECT_NE(r.reason.find("PyTorch"), std::string::npos) << r.reason;
      EXPECT_GT(r.bytes, 0);
    }
  }
  // A library is taken from a file only by its name.
  for (const char* bad : {"quack", "quack=", "nobody=x.py"})
    EXPECT_EQ(WEXITSTATUS(std::system(
                  (line.substr(0, line.find(" >")) + " --library " + bad + " 2>/dev/null").c_str())),
              2)
        << bad;
}

}  // namespace
}  // namespace assay

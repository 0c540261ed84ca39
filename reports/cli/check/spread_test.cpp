// SPDX-License-Identifier: Apache-2.0
// Several kernels at a time (`check --jobs`): the same records and verdict as one after the other, nothing
// left behind, and what is finished is kept.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "kernels/device.hpp"
#include "reference/test_folder.hpp"
#include "reports/cli/long_runs/process_test.hpp"
#include "reports/cli/options.hpp"
#include "reports/records/compare.hpp"
#include "reports/records/record_lines.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using process_test::Finished;

class SpreadCheck : public command_test::FolderTest {
 protected:
  void SetUp() override {
    if (!process_test::has_command()) GTEST_SKIP();
  }
  Finished check(std::vector<std::string> words, const std::string& folder,
                 const std::vector<std::string>& settings = {}) const {
    words.insert(words.begin(), "check");
    words.insert(words.end(),
                 {"--only", "batch", "--only", "shapes", "--V", "257", "--quick", "--out", at(folder)});
    return process_test::run(words, settings);
  }
  /// A program that does `what` in place of the first part, and is assay otherwise.
  std::string instead_of_the_first(const std::string& what) const {
    std::ofstream(at("instead.sh")) << "#!/bin/sh\ncase \"$*\" in *--shard\\ 0/*) " << what
                                    << " ;; esac\nexec '" << ASSAY_COMMAND << "' \"$@\"\n";
    fs::permissions(at("instead.sh"), fs::perms::owner_all);
    return "ASSAY_WORKER=" + at("instead.sh");
  }
};

TEST_F(SpreadCheck, APartThatDoesNotEndIsNamedAndTheOthersAreKept) {
  std::ofstream(at("text.so")) << "no shared object";
  const std::vector<std::string> words = {"safe_block/f32@host", "online_warp/f16@host", at("text.so"),
                                          "--jobs", "3"};
  const Finished first = check(words, "out");
  EXPECT_EQ(first.status, 2) << first.out << first.err;
  EXPECT_NE(first.err.find("text.so: was not checked: its process ended with status 2"), std::string::npos)
      << first.err;
  EXPECT_NE(first.err.find("to go on: assay check"), std::string::npos) << first.err;
  EXPECT_FALSE(fs::exists(at("out/records.jsonl")));
  ASSERT_TRUE(fs::exists(at("out/shard-0-of-3/shard.json")));
  // A part that was killed is run again, the others are not.
  const auto before = fs::last_write_time(at("out/shard-0-of-3/shard.json"));
  std::vector<std::string> again = words;
  again.emplace_back("--resume");
  const Finished second = check(again, "out");
  EXPECT_EQ(second.status, 2);
  EXPECT_NE(second.err.find("2 of 3 kernels are finished already"), std::string::npos) << second.err;
  EXPECT_EQ(fs::last_write_time(at("out/shard-0-of-3/shard.json")), before);
  // Without --resume all of them are.
  EXPECT_EQ(check(words, "out").err.find("finished already"), std::string::npos);
}

// What an older run left is no part of this one.
TEST_F(SpreadCheck, APartWhoseProcessDiedIsNoPass) {
  const std::vector<std::string> kernels = {"safe_block/f32@host", "online_warp/f16@host"};
  for (const char* what : {"exit 1", "exit 0", "kill -9 $$"}) {
    std::vector<std::string> part = kernels, all = kernels;
    part.insert(part.end(), {"--shard", "0/2"});
    all.insert(all.end(), {"--jobs", "2", "--json", "--junit", at("junit.xml")});
    ASSERT_EQ(check(part, "out").status, 0);
    const Finished e = check(all, "out", {instead_of_the_first(what)});
    EXPECT_EQ(e.status, 3) << what << "\n" << e.out << e.err;
    EXPECT_NE(e.err.find("safe_block/f32@host: was not checked: its process "), std::string::npos) << e.err;
    EXPECT_FALSE(fs::exists(at("out/records.jsonl"))) << what;
    // Programs are answered too.
    EXPECT_NE(e.out.find("\"verdict\": \"INCOMPLETE\""), std::string::npos) << e.out;
    EXPECT_NE(read_file(at("junit.xml")).find("was not checked: its process "), std::string::npos);
    all.emplace_back("--resume");
    const Finished resumed = check(all, "out");
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_NE(resumed.err.find("1 of 2 kernels are finished already"), std::string::npos) << resumed.err;
    fs::remove_all(at("out"));
  }
}

TEST_F(SpreadCheck, IsNotMixedWithPartsOfOtherRuns) {
  const std::vector<std::string> words = {"safe_block/f32@host", "online_warp/f16@host", "--jobs", "2"};
  const std::vector<std::string> step = {"SLURM_PROCID=0", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=4"};
  const Finished launched = check(words, "out", step);
  EXPECT_EQ(launched.status, 2) << launched.out;
  EXPECT_NE(launched.err.find("part 0 of 4: leave out --jobs"), std::string::npos) << launched.err;
  std::vector<std::string> both = words;
  both.insert(both.end(), {"--shard", "0/2"});
  EXPECT_EQ(check(both, "out").status, 2);
  both.back() = "0/1";
  EXPECT_EQ(check(both, "out", step).status, 0);
  fs::create_directories(at("out/shard-0-of-3"));
  const Finished mixed = check(words, "out");
  EXPECT_EQ(mixed.status, 2);
  EXPECT_NE(mixed.err.find("shard-0-of-3: is a part of another run"), std::string::npos) << mixed.err;
}

TEST(LocalRank, IsThatOfTheLauncher) {
  const char* const kNames[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"};
  for (const char* name : kNames) unsetenv(name);
  EXPECT_FALSE(local_rank());
  for (const char* name : kNames) {
    setenv(name, "5", 1);
    EXPECT_EQ(local_rank(), 5) << name;
    setenv(name, "x", 1);
    EXPECT_ANY_THROW(local_rank()) << name;
    unsetenv(name);
  }
}

/// Without --seed one seed is drawn for all processes, and a run that goes on keeps it.
TEST_F(SpreadCheck, DrawsOneSeedForAllItsProcesses) {
  const std::vector<std::string> words = {"check",
                                          "safe_block/f32@host",
                                          "online_warp/f16@host",
                                          "--jobs",
                                          "2",
                                          "--only",
                                          "batch",
                                          "--quick",
                                          "--out",
                                          at("out")};
  const Finished lost = process_test::run_as_typed(words, {instead_of_the_first("exit 3")});
  EXPECT_EQ(lost.status, kEnvironment) << lost.out << lost.err;
  std::vector<std::string> again = words;
  again.push_back("--resume");
  const Finished o = process_test::run_as_typed(again);
  ASSERT_EQ(o.status, kPassed) << o.out << o.err;
  EXPECT_NE(o.err.find("1 of 2 kernels are finished already"), o.err.npos) << o.err;
  std::set<std::uint64_t> seeds;
  for (const Record& r : read_records(at("out/records.jsonl"))) seeds.insert(r.seed);
  ASSERT_EQ(seeds.size(), 1u);
  EXPECT_NE(*seeds.begin(), 1u);
  EXPECT_NE(o.out.find(fmt::format("\nseed {}, drawn for this run: ", *seeds.begin())), o.out.npos) << o.out;
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Which part of a run a process is: by --shard, or by the launcher that started it.
#include "reports/out/shard_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <vector>

#include "reference/error.hpp"

namespace assay {
namespace {

TEST(Shards, AreReadFromALaunchersEnvironment) {
  constexpr const char* kPairs[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                       {"PMI_RANK", "PMI_SIZE"},
                                       {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  setenv("SLURM_STEP_ID", "0", 1);
  for (const auto& pair : kPairs) {
    setenv(pair[0], "3", 1);
    setenv(pair[1], "8", 1);
    const Shard s = shard_of("");
    EXPECT_EQ(s.index, 3);
    EXPECT_EQ(s.count, 8);
    EXPECT_EQ(s.words(), "part 3 of 8");
    EXPECT_EQ(s.from, std::string(pair[0]) + " and " + pair[1]);
    setenv(pair[0], "8", 1);
    EXPECT_THROW(shard_of(""), InputError);
    unsetenv(pair[0]);
    unsetenv(pair[1]);
  }
  unsetenv("SLURM_STEP_ID");
  EXPECT_EQ(shard_of("").count, 1);
  EXPECT_EQ(shard_of("").words(), "");
  EXPECT_EQ(shard_of("1/4").from, "--shard");
  EXPECT_EQ(shard_of("1/4").suffix(), ".1-of-4");
  EXPECT_NE(shard_of("1/4").seed(1), shard_of("2/4").seed(1));
  EXPECT_EQ(shard_of("").seed(9), 9u);
  for (const char* bad : {"1", "4/4", "-1/4", "a/b", "1/", "/2", "1/4/5"})
    EXPECT_THROW(shard_of(bad), InputError) << bad;
  // What an array of Slurm from 1 on makes of its last task.
  try {
    shard_of("100/100");
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(std::string(e.what()), "--shard: shard 100 of 100 does not exist: indices are from 0 to 99");
  }
}

// sbatch -n 8 sets these in the batch script, which runs once: it must do the whole run. The shell of salloc
// is a step with a number of Slurm's own.
TEST(Shards, ABatchScriptOfSlurmIsNotDivided) {
  const std::pair<const char*, const char*> batch[] = {
      {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_NPROCS", "8"}, {"SLURM_LOCALID", "0"}};
  for (const auto& [name, value] : batch) setenv(name, value, 1);
  EXPECT_EQ(shard_of("").count, 1);
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  for (const char* no_step : {"", "batch", "4294967290", "4294967291", "99999999999"}) {
    setenv("SLURM_STEP_ID", no_step, 1);
    EXPECT_EQ(shard_of("").count, 1) << no_step;
  }
  setenv("SLURM_STEP_ID", "2", 1);
  EXPECT_EQ(shard_of("").count, 4);
  unsetenv("SLURM_STEP_NUM_TASKS");
  EXPECT_EQ(shard_of("").count, 1);
  unsetenv("SLURM_STEP_ID");
  for (const auto& [name, value] : batch) unsetenv(name);
}

TEST(Shards, EveryPieceBelongsToOnePart) {
  const std::vector<double> weights = {1, 5, 3, 5, 0, 2, 2};
  for (const int count : {1, 2, 3, 9}) {
    std::multiset<std::size_t> dealt, kept;
    for (int index = 0; index < count; ++index) {
      for (const std::size_t i : dealt_to({index, count}, weights)) dealt.insert(i);
      std::vector<std::size_t> all = {0, 1, 2, 3, 4, 5, 6};
      keep_shard(all, {index, count});
      kept.insert(all.begin(), all.end());
    }
    EXPECT_EQ(dealt, (std::multiset<std::size_t>{0, 1, 2, 3, 4, 5, 6})) << count;
    EXPECT_EQ(kept, dealt) << count;
  }
}

}  // namespace
}  // namespace assay

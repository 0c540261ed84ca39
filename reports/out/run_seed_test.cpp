// SPDX-License-Identifier: Apache-2.0
// The seed of a run: given, kept from the run that goes on, or drawn.
#include "reports/out/run_seed.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "reference/error.hpp"
#include "reference/test_folder.hpp"
#include "reports/out/command_line.hpp"

namespace assay {
namespace {

class RunSeedTest : public testing::Test {
 protected:
  ~RunSeedTest() override { set_command_line({}); }
  RunSeed settled(std::vector<std::string> words, std::optional<std::uint64_t> given = {},
                  bool resume = false) {
    set_command_line(std::move(words));
    RunSeed seed{.given = given};
    settle(seed, own_.path(), resume);
    return seed;
  }
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((own_.path() / name).parent_path());
    std::ofstream(own_.path() / name) << text;
  }
  TestFolder own_;
};

TEST_F(RunSeedTest, IsAnotherOneEachTimeAndPartOfTheCommand) {
  std::set<std::uint64_t> drawn;
  for (int n = 0; n < 100; ++n) {
    const RunSeed seed = settled({"check", "a.cu"});
    EXPECT_TRUE(seed.drawn);
    EXPECT_GT(seed.value, 0u);
    EXPECT_LT(seed.value, std::uint64_t{1} << 48) << "exact in the numbers of JSON";
    EXPECT_EQ(command_compared(), "assay check a.cu --seed " + std::to_string(seed.value));
    drawn.insert(seed.value);
  }
  EXPECT_EQ(drawn.size(), 100u);
}

TEST_F(RunSeedTest, GivenIsTheOneThatCounts) {
  const RunSeed seed = settled({"check", "--seed", "0x10", "--quick", "--", "-odd.cu"}, 16);
  EXPECT_FALSE(seed.drawn);
  EXPECT_EQ(seed.value, 16u);
  EXPECT_EQ(command_compared(), "assay check --quick --seed 16 -- -odd.cu");
  settled({"check", "--seed=16", "a.cu"}, 16);
  EXPECT_EQ(command_compared(), "assay check a.cu --seed 16");
}

TEST_F(RunSeedTest, AnUnfinishedRunKeepsItsOwn) {
  write("unfinished.jsonl",
        "{\"assay_unfinished\":1,\"command\":\"assay check a.cu --seed 77\"}\n{\"case\":\"x\"}\n");
  EXPECT_NE(settled({"check", "a.cu"}).value, 77u) << "without --resume the run begins again";
  const RunSeed seed = settled({"check", "a.cu", "--resume"}, {}, true);
  EXPECT_EQ(seed.value, 77u);
  EXPECT_TRUE(seed.drawn);
  EXPECT_EQ(settled({"check", "a.cu", "--resume"}, 5, true).value, 5u);
}

TEST_F(RunSeedTest, PartsOfOneRunHaveTheSame) {
  write("shard-1-of-2/shard.json",
        "{\n  \"command\": \"assay check a.cu b.cu --seed 78\",\n  \"count\": 2\n}\n");
  EXPECT_EQ(settled({"check", "a.cu", "b.cu", "--jobs", "2", "--resume"}, {}, true).value, 78u);
  EXPECT_THROW(require_common_seed({}, 2), InputError);
  EXPECT_NO_THROW(require_common_seed({.given = 3}, 2));
  EXPECT_NO_THROW(require_common_seed({}, 1));
}

TEST_F(RunSeedTest, IsALineForPeople) {
  std::vector<std::pair<std::string, std::string>> where;
  EXPECT_EQ(seed_line(where), "");
  add_seed(where, {.given = {}, .value = 12, .drawn = true});
  EXPECT_EQ(seed_line(where), "seed 12, drawn for this run: --seed 12 repeats this run\n");
  where.clear();
  add_seed(where, {.given = 12, .value = 12, .drawn = false});
  EXPECT_EQ(seed_line(where), "seed 12: --seed 12 repeats this run\n");
}

}  // namespace
}  // namespace assay

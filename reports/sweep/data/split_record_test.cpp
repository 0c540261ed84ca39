// SPDX-License-Identifier: Apache-2.0
// Records of rows split over GPUs survive files without loss. A broken line is refused, and the message names
// the field.
#include "reports/sweep/data/split_record.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reference/error.hpp"
#include "reference/test_folder.hpp"
#include "reports/data/files.hpp"

namespace assay {
namespace {

SplitRecord split_sample() {
  SplitRecord r;
  r.key = "onepass_split_fast/f32@cuda";
  r.alone_key = "onepass_fast/f32@cuda";
  r.dtype = "f32";
  r.gpus = 2;
  r.rows = 4000;
  r.V = 262144;
  r.exchange = "nccl";
  r.chunk_rows = 16;
  r.depth = 4;
  r.teams = 2;
  r.status = "measured";
  r.times_us = {1500.5, 1501};
  r.samples = 2;
  r.median_us = 1500.75;
  r.shares = {{0, 0, 131072, 1500.75, 1400.0, 1390.0, 0.93, 0.92},
              {1, 131072, 131072, 1499.0, 1380.0, {}, 0.92, {}}};
  r.verified = "pass";
  r.family = "normal_1";
  r.seed = 1;
  r.gpu = "a GPU";
  return r;
}

TEST(SplitRecord, SurvivesAFile) {
  const TestFolder own;
  const auto file = own.path() / "split.jsonl";
  SplitRecord other = split_sample();
  other.exchange = "held";
  add_splits(file, {split_sample(), other});
  const std::vector<SplitRecord> read = read_splits(file);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(split_line(read[0]), split_line(split_sample()));
  EXPECT_EQ(split_line(read[1]), split_line(other));
  EXPECT_FALSE(read[0].shares[1].copy_us.has_value()) << "what was not measured is absent, not 0";
}

TEST(SplitRecord, ANewOneReplacesTheOldOfItsConfiguration) {
  const TestFolder own;
  const auto file = own.path() / "split.jsonl";
  SplitRecord deeper = split_sample(), again = split_sample();
  deeper.depth = 5;
  again.median_us = 1600;
  add_splits(file, {split_sample(), deeper});
  add_splits(file, {again});
  const std::vector<SplitRecord> read = read_splits(file);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].median_us, 1600);
  EXPECT_EQ(identity(read[1]), "onepass_split_fast/f32@cuda V=262144 rows=4000 gpus=2 nccl 16x4 teams=2");
}

TEST(SplitRecord, TheSlowestGpuDecides) {
  EXPECT_EQ(least_share(split_sample()), 0.92);
  SplitRecord none = split_sample();
  for (SplitShare& s : none.shares) s.share_of_alone.reset();
  EXPECT_FALSE(least_share(none).has_value());
}

TEST(SplitRecord, ABrokenLineIsRefusedByName) {
  const TestFolder own;
  const auto file = own.path() / "split.jsonl";
  const auto refused = [&](const char* field, const nlohmann::json& value) {
    nlohmann::json j = nlohmann::json::parse(split_line(split_sample()));
    j[field] = value;
    write_files({{file, j.dump() + "\n"}});
    try {
      read_splits(file);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(refused("rows", "many").find("line 1: field rows"), std::string::npos);
  EXPECT_NE(refused("verified", "perhaps").find("field verified"), std::string::npos);
  EXPECT_NE(refused("kind", "sweep").find("field kind"), std::string::npos);
  EXPECT_NE(refused("shares", nlohmann::json::array({1})).find("field shares"), std::string::npos);
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Records of the sweep survive JSON and files without loss. A torn last line is dropped. Any other broken
// line is refused, with a message that names the file, the line and the field.
#include "reports/sweep/data/record.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reference/error.hpp"
#include "reference/test_folder.hpp"
#include "reports/data/files.hpp"
#include "reports/sweep/data/access_record.hpp"
#include "reports/sweep/data/split_record.hpp"

namespace assay {
namespace {

SweepRecord sweep_sample() {
  SweepRecord r;
  r.key = "online_topk_block/f16@cuda";
  r.backend = "cuda";
  r.op = "softmax_topk";
  r.dtype = "f16";
  r.rows = 4000;
  r.V = 1032192;
  r.k = 5;
  r.status = "measured";
  r.samples = 2;
  r.times_us = {12.5, 13.25};
  r.launches_per_sample = 8;
  r.median_us = 12.875;
  r.p10_us = 12.5;
  r.ci_low_us = 12.5;
  r.bytes = 8257536000;
  r.claimed_loads = 1;
  r.claimed_stores = 0;
  r.copy_us = 3000;
  r.share_of_read = 0.98;
  r.cold = "one pair, 8.3 GB, larger than the L2";
  r.verified = "pass";
  r.max_ulp = INFINITY;
  r.family = "normal_1";
  r.seed = 18446744073709551615u;
  r.gpu = "a \"GPU\"";
  r.sm_clock_mhz = 1980;
  r.reproduce = "assay sweep --key online_topk_block/f16@cuda";
  return r;
}

std::filesystem::path written(const std::string& text) {
  static const TestFolder folder;
  const std::filesystem::path file = folder.path() / "sweep.jsonl";
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

TEST(SweepRecord, SurvivesJson) {
  const nlohmann::json j = nlohmann::json::parse(sweep_line(sweep_sample()));
  EXPECT_EQ(to_json(sweep_record_from_json(j)), j);
  EXPECT_EQ(j.at("kind"), "sweep");
  EXPECT_EQ(j.at("version"), 1);
  EXPECT_TRUE(j.at("read_us").is_null());
  EXPECT_EQ(j.at("max_ulp"), "inf");
  EXPECT_EQ(j.at("seed"), 18446744073709551615u);
}

TEST(SweepRecord, EveryFieldIsNeededAndNamed) {
  const nlohmann::json good = to_json(sweep_sample());
  for (const auto& [field, value] : good.items()) {
    nlohmann::json j = good;
    j.erase(field);
    if (field == "fastest_us")  // records from before it was measured lack it
      EXPECT_FALSE(sweep_record_from_json(j).fastest_us);
    else
      EXPECT_THROW(sweep_record_from_json(j), InputError) << field;
    if (field == "kind") continue;
    j[field] = nlohmann::json::array({nlohmann::json::object()});
    try {
      sweep_record_from_json(j);
      ADD_FAILURE() << field << " of a wrong type was taken";
    } catch (const std::exception& e) {
      EXPECT_NE(std::string(e.what()).find(field), std::string::npos) << e.what();
    }
  }
  nlohmann::json j = good;
  j["status"] = "measurred";
  EXPECT_THROW(sweep_record_from_json(j), InputError);
}

TEST(SweepRecord, EveryRealFieldKeepsWhatIsNoNumber) {
  nlohmann::json j = to_json(sweep_sample());
  for (const char* x : {"nan", "inf", "-inf"}) {
    for (const char* field :
         {"median_us", "p10_us", "p90_us", "ci_low_us", "ci_high_us", "copy_us", "read_us", "empty_us",
          "fastest_us", "max_ulp", "gb_per_s", "share_of_copy", "share_of_read", "share_of_datasheet",
          "accesses_at_copy_speed", "max_utilisation", "sm_clock_mhz", "mem_clock_mhz", "sm_clock_now_mhz"}) {
      ASSERT_TRUE(j.contains(field)) << field;
      j[field] = x;
    }
    j["times_us"] = {1.5, x};
    EXPECT_EQ(to_json(sweep_record_from_json(j)), j);
  }
  EXPECT_TRUE(std::isinf(*sweep_record_from_json(j).empty_us));
  EXPECT_EQ(to_json(sweep_record_from_json(to_json(SweepRecord{}))), to_json(SweepRecord{}));
}

TEST(SweepRecord, ASpeedBeyondTheMachineIsFound) {
  SweepRecord r;
  r.op = "softmax", r.dtype = "f32", r.rows = 4000, r.V = 129024;
  r.bytes = 2 * r.rows * r.V * 4;
  EXPECT_FALSE(writes_less(r));
  EXPECT_FALSE(share_of_fastest(r)) << "nothing was measured";
  r.median_us = 10;
  EXPECT_FALSE(share_of_fastest(r));
  r.copy_us = 10.2, r.read_us = 8;
  EXPECT_DOUBLE_EQ(share_of_fastest(r).value_or(0), 1.02);
  EXPECT_EQ(beyond_reach(r), "");
  r.copy_us = 10.21;
  EXPECT_NE(beyond_reach(r).find("its speed is 1.021 times"), std::string::npos);
  r.fastest_us = 9;
  EXPECT_DOUBLE_EQ(share_of_fastest(r).value_or(0), 0.9) << "what is newer counts";
  // Half the bytes are written, or fewer: then a read is a way, too.
  r.fastest_us.reset(), r.bytes = r.rows * (r.V + 1) * 4;
  EXPECT_TRUE(writes_less(r));
  EXPECT_DOUBLE_EQ(share_of_fastest(r).value_or(0), 0.8);
  r.copy_us.reset();
  EXPECT_DOUBLE_EQ(share_of_fastest(r).value_or(0), 0.8);
  r.median_us = 0.1;
  EXPECT_NE(beyond_reach(r), "");
  r.role = "ceiling";
  EXPECT_EQ(beyond_reach(r), "");
}

TEST(SweepRecord, IdentityTellsConfigurationsApart) {
  const SweepRecord a = sweep_sample();
  EXPECT_EQ(identity(a), identity(sweep_sample()));
  std::vector<SweepRecord> others(6, a);
  others[0].key = "x";
  others[1].V = 1;
  others[2].rows = 1;
  others[3].k = 10;
  others[4].family = "spike";
  others[5].seed = 2;
  for (const SweepRecord& o : others) EXPECT_NE(identity(o), identity(a)) << identity(o);
}

TEST(SweepFile, KeepsTheLastRecordOfAConfiguration) {
  SweepRecord a = sweep_sample(), b = sweep_sample();
  b.V = 63;
  a.status = "not_run";
  const std::string first = sweep_line(a) + sweep_line(b);
  a.status = "measured";
  const std::vector<SweepRecord> all = read_sweep(written(first + sweep_line(a)));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].status, "measured");
  EXPECT_EQ(all[1].V, 63);
}

TEST(SweepFile, DropsATornLastLineAndRefusesAnyOther) {
  const std::string line = sweep_line(sweep_sample());
  bool torn = false;
  EXPECT_EQ(read_sweep(written(line + line.substr(0, 40)), &torn).size(), 1u);
  EXPECT_TRUE(torn);
  EXPECT_EQ(read_sweep(written(line), &torn).size(), 1u);
  EXPECT_FALSE(torn);
  try {
    read_sweep(written(line.substr(0, 40) + "\n" + line));
    ADD_FAILURE() << "a broken line was taken";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("line 1"), std::string::npos) << e.what();
  }
}

// Counts of accesses survive JSON and files without loss. A broken line is refused, and the message names
// the field.

AccessRecord sample() {
  AccessRecord r;
  r.key = "online_block/f32@cuda";
  r.claimed_loads = 2;
  r.claimed_stores = 1;
  r.source = "ncu";
  r.rows = 4000;
  r.V = 32768;
  r.dram_read = 2.003;
  r.dram_write = INFINITY;
  r.l2_read = NAN;
  r.registers = 32;
  r.occupancy = 0.97;
  r.kernels = 1;
  r.gpu = "a \"GPU\"";
  return r;
}

TEST(AccessRecord, SurvivesJson) {
  const nlohmann::json j = nlohmann::json::parse(access_line(sample()));
  EXPECT_EQ(to_json(access_record_from_json(j)), j);
  EXPECT_EQ(j.at("kind"), "accesses");
  EXPECT_EQ(j.at("dram_write"), "inf");
  EXPECT_TRUE(j.at("loads").is_null()) << "what was not counted is absent, not 0";
  const AccessRecord r = access_record_from_json(j);
  EXPECT_EQ(r.claimed_loads, 2);
  EXPECT_EQ(r.dram_read, 2.003);
  EXPECT_TRUE(std::isnan(*r.l2_read));
  EXPECT_FALSE(r.stores.has_value());
}

TEST(AccessRecord, EveryRealFieldKeepsWhatIsNoNumber) {
  nlohmann::json j = to_json(sample());
  for (const char* x : {"nan", "inf", "-inf"}) {
    for (const char* field : {"loads", "stores", "dram_read", "dram_write", "l2_read", "l2_write",
                              "registers", "local_bytes", "occupancy", "sectors_per_request",
                              "instructions_per_element", "issue_share", "dram_share", "time_us"}) {
      ASSERT_TRUE(j.contains(field)) << field;
      j[field] = x;
    }
    EXPECT_EQ(to_json(access_record_from_json(j)), j);
  }
}

TEST(AccessRecord, EveryFieldIsNeededAndNamed) {
  const nlohmann::json good = to_json(sample());
  for (const auto& [field, value] : good.items()) {
    nlohmann::json j = good;
    j.erase(field);
    EXPECT_THROW(access_record_from_json(j), InputError) << field;
    j[field] = nlohmann::json::array({nlohmann::json::object()});
    try {
      access_record_from_json(j);
      ADD_FAILURE() << field << " of a wrong type was taken";
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find(field), std::string::npos) << e.what();
    }
  }
  nlohmann::json j = good;
  j["source"] = "guessed";
  EXPECT_THROW(access_record_from_json(j), InputError);
}

TEST(AccessFile, NamesTheFileAndTheLine) {
  const TestFolder folder;
  const std::filesystem::path file = folder.path() / "accesses.jsonl";
  std::ofstream(file) << access_line(sample()) << "\n" << access_line(sample());
  EXPECT_EQ(read_accesses(file).size(), 2u);
  std::ofstream(file) << access_line(sample()) << "{\"kind\":\"accesses\"}\n";
  try {
    read_accesses(file);
    ADD_FAILURE() << "a broken line was taken";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("accesses.jsonl: line 2"), std::string::npos) << e.what();
  }
  EXPECT_THROW(read_accesses(file.string() + ".absent"), InputError);
}

// Records of rows split over GPUs survive files without loss. A broken line is refused, and the message names
// the field.

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

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

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Counts of accesses survive JSON and files without loss. A broken line is refused, and the message names
// the field.
#include "reports/sweep/data/access_record.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

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

}  // namespace
}  // namespace assay

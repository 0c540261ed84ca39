// SPDX-License-Identifier: Apache-2.0
// The oracle's speed from command line to page: numbers add up, files are read back, wrong calls are refused.
#include <gtest/gtest.h>

#include <filesystem>

#include "reference/error.hpp"
#include "reference/test_folder.hpp"
#include "reports/cli/commands.hpp"
#include "reports/data/files.hpp"
#include "reports/page/test_data.hpp"
#include "reports/runs/oracle_speed_data.hpp"

namespace assay {
namespace {

int call(std::vector<const char*> words) {
  words.insert(words.begin(), "assay");
  return run_assay(static_cast<int>(words.size()), words.data());
}

const std::filesystem::path& folder() {
  static const TestFolder own;
  return own.path();
}

TEST(OracleSpeed, GoesFromTheCommandToThePage) {
  const std::string out = folder().string();
  ASSERT_EQ(call({"sweep", "oracle", "--key", "safe_block/f32@host", "--V", "1000", "--rows", "4", "--out",
                  out.c_str()}),
            kPassed);
  const OracleSpeedData d = read_oracle_speed(folder() / "oracle.json");
  ASSERT_GE(d.rows.size(), 2u);
  EXPECT_EQ(d.family, "normal_1");
  EXPECT_EQ(d.rows[0].tier, "mpfr");
  for (const OracleSpeedRow& r : d.rows) {
    EXPECT_EQ(r.key, "safe_block/f32@host");
    EXPECT_EQ(r.V, 1000);
    EXPECT_EQ(r.failed, 0);
    EXPECT_GT(r.elements_per_second, 0);
  }
  ReportData data;
  data.oracle = d;
  const std::string page = test_data::page_of(data, "compare.html");
  EXPECT_NE(page.find("id=\"oracle\""), std::string::npos);
  EXPECT_NE(page.find("safe_block/f32@host"), std::string::npos);
}

TEST(OracleSpeed, RefusesFilesThatAreNotItsOwn) {
  write_files({{folder() / "oracle.json", "{\"family\": 3}"}});
  EXPECT_THROW(read_oracle_speed(folder() / "oracle.json"), InputError);
  EXPECT_THROW(read_oracle_speed(folder() / "none.json"), InputError);
}

}  // namespace
}  // namespace assay

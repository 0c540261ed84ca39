// SPDX-License-Identifier: Apache-2.0
// about.json says what the run was, and refuses what is none.
#include "reports/records/about.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <iterator>
#include <string>

#include "reference/error.hpp"
#include "reports/data/files.hpp"
#include "reports/records/report_fields.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

TEST(About, WritesTheStatesOfAContractInItsOwnWords) {
  for (int i = 0; i < static_cast<int>(std::size(conformance::kAxisStates)); ++i)
    EXPECT_STREQ(conformance::kAxisStates[i], name(static_cast<conformance::Axis::State>(i)));
}

TEST(About, ReadsWhatItWrote) {
  const fs::path file = fs::temp_directory_path() / ("assay-about-" + std::to_string(getpid()) + ".json");
  ReportData data;
  data.environment = {{"GPU", "a <card>"}, {"seed", "7"}};
  data.keys.resize(1);
  data.keys[0].key = "k/f32@host", data.keys[0].accesses = "2+1";
  data.families = {{"nan", "why"}};
  Profile p;
  p.key = "k/f32@host", p.family = "nan", p.V = 33;
  p.bins = {{0, INFINITY, 3, NAN, 0.5, 0.25}};
  p.signed_limit = 2, p.signed_counts = {1, 0, 5}, p.above = 1;
  data.profiles = {p};
  data.oracle.rows.resize(1);
  data.contracts["k/f32@host"].axes = {{"V", conformance::Axis::State::found, "at most 1024", "an error"}};
  data.contracts["k/f32@host"].found = "max_V=1024";
  data.functions.emplace();
  data.planned = 7, data.executed = 6, data.seconds = 1.5, data.quick = true;
  write_files({{file, render_about(data)}});
  EXPECT_EQ(render_about(read_about(file)), read_file(file));
  for (const char* text : {"", "[]", "{\"format\": \"another\"}", "{\"format\": \"assay about 1\"}"}) {
    write_files({{file, text}});
    EXPECT_THROW(read_about(file), InputError) << text;
  }
  fs::remove(file);
}

}  // namespace
}  // namespace assay

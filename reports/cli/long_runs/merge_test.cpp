// SPDX-License-Identifier: Apache-2.0
// The parts of a run are disjoint and together the whole, and `assay merge` says what is missing.
#include "reports/merge/merge.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "kernels/device.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/cli/long_runs/process_test.hpp"
#include "reports/records/compare.hpp"
#include "reports/sweep/data/record.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using command_test::call_words;
using command_test::Outcome;

class MergeCommand : public command_test::FolderTest {
 protected:
  Outcome merge(const std::string& from, const std::string& to) const {
    return call_words({"merge", at(from), "--out", at(to)});
  }
  /// Replaces what the pattern finds in a file.
  void edit(const std::string& file, const char* pattern, const char* by) const {
    const std::string text = read_file(at(file)), edited = std::regex_replace(text, std::regex(pattern), by);
    EXPECT_NE(edited, text) << file;
    std::ofstream(at(file)) << edited;
  }
};

/// A part with limits that nobody declared (status 4) is right. One that could not run (3) is not, and weighs
/// more.
TEST_F(MergeCommand, UndeclaredLimitsAreAPassAndWeighLessThanWhatDidNotRun) {
  std::ofstream(at("by_four.cpp")) << process_test::kByFour;
  const auto parts_end = [&](const std::string& second, const std::string& folder, int with) {
    const std::string line = "check " + at("by_four.cpp") + " " + second + " --entry by_four --host --quick";
    EXPECT_EQ(run(line, folder, "0/2").status, kUndeclaredLimits);
    EXPECT_EQ(run(line, folder, "1/2").status, with);
    const Outcome merged = call_words({"merge", at(folder), "--out", at(folder), "--junit", at("junit.xml")});
    const Outcome whole = run(line, folder + "_whole");
    EXPECT_EQ(merged.status, whole.status) << merged.out << merged.err << whole.out << whole.err;
    return merged;
  };
  const Outcome right = parts_end("safe_block/f32@host", "right", kPassed);
  EXPECT_EQ(right.status, kUndeclaredLimits);
  EXPECT_NE(right.out.find("PASS within limits that nobody declared: 2 shards of assay check: "),
            std::string::npos)
      << right.out;
  EXPECT_EQ(read_file(at("junit.xml")).find("ended with status 4"), std::string::npos);
  EXPECT_NE(read_file(at("junit.xml")).find("right within limits that nobody declared"), std::string::npos);
  EXPECT_NE(call_words({"merge", "--help"}).out.find("\n  4  right within limits that nobody declared"),
            std::string::npos);
  const std::string plugin = std::string(ASSAY_FIXTURES) + "/fixture_on_device.so";
  if (!fs::exists(plugin) || unavailable_reason(Backend::cuda).empty()) return;
  const Outcome lacking = parts_end(plugin, "lacking", kEnvironment);
  EXPECT_EQ(lacking.status, kEnvironment);
  EXPECT_NE(lacking.out.find("INCOMPLETE: 2 shards"), std::string::npos) << lacking.out;
}
TEST_F(MergeCommand, PartsOfASelftestAreOnePage) {
  const std::string line = "selftest --quick --key table_by_length";
  EXPECT_EQ(run(line, "whole").status, kPassed);
  for (const char* part : {"0/2", "1/2"}) EXPECT_EQ(run(line, "parts", part).status, kPassed);
  const Outcome merged = merge("parts", "merged");
  EXPECT_EQ(merged.status, kPassed) << merged.out << merged.err;
  EXPECT_NE(merged.out.find("page: " + at("merged/selftest.html")), std::string::npos) << merged.out;
  const auto page = [&](const std::string& folder) {
    return std::regex_replace(read_file(at(folder + "/selftest.html")),
                              std::regex("<dt>seconds</dt><dd[^<]*</dd>"), "");
  };
  EXPECT_TRUE(page("merged") == page("whole"));
  EXPECT_NE(page("merged").find("table_by_length"), std::string::npos);
  // As an older version wrote it.
  for (const char* part : {"0", "1"})
    edit(std::string("parts/shard-") + part + "-of-2/shard.json", R"re(,\s*"kept": ?"[^"]*")re", "");
  EXPECT_EQ(merge("parts", "again").status, kPassed);
}
TEST_F(MergeCommand, APartOfASearchThatDoesNotSayWhatItJudgedIsRefused) {
  const std::string line = "fuzz safe_block/f32@host --evaluations 8 --seed 1";
  for (const char* part : {"0/2", "1/2"}) EXPECT_EQ(run(line, "parts", part).status, kPassed);
  EXPECT_EQ(merge("parts", "merged").status, kPassed);
  edit("parts/shard-1-of-2/shard.json", R"re(,\s*"in_part": ?false)re", "");
  const Outcome old = merge("parts", "again");
  EXPECT_EQ(old.status, kBadCall) << old.out;
  EXPECT_NE(old.err.find("an older version of assay made it"), std::string::npos) << old.err;
}
TEST_F(MergeCommand, PartsOfASweepAreTheWholePlan) {
  const std::string line = "sweep --host --plan --key online_warp/f16@host --key safe_block/f32@host --full";
  const auto plan = [&](const std::string& shard) {
    std::vector<std::string> all;
    std::istringstream in(run(line, "x", shard).out);
    for (std::string one; std::getline(in, one);)
      if (!one.ends_with(" configurations")) all.push_back(one);
    return all;
  };
  std::vector<std::string> whole = plan(""), parts;
  for (const char* shard : {"0/3", "1/3", "2/3"})
    for (std::string& one : plan(shard)) parts.push_back(std::move(one));
  std::sort(whole.begin(), whole.end());
  std::sort(parts.begin(), parts.end());
  EXPECT_GT(whole.size(), 6u);
  EXPECT_EQ(parts, whole);
}

TEST_F(MergeCommand, PartsOfASweepAreTheWholeSweep) {
  const std::string line =
      "sweep --host --key online_warp/f16@host --key safe_block/f32@host --V 33 --V 65 --rows 2";
  // Two runs take different times. All else is the same.
  const auto records = [&](const std::string& folder) {
    std::vector<std::string> all;
    for (const SweepRecord& r : read_facts<SweepRecord>(at(folder + "/sweep.jsonl")))
      if (r.role != "ceiling")
        all.push_back(identity(r) + " " + status_word(r) + " " + judged_word(r.verified) + " " +
                      std::to_string(r.verified_elements) + " " + std::to_string(r.bytes) + " " +
                      r.reproduce);
    std::sort(all.begin(), all.end());
    return all;
  };
  EXPECT_EQ(run(line, "whole").status, kPassed);
  for (const char* shard : {"0/3", "1/3", "2/3"}) {
    EXPECT_EQ(run(line, "parts", shard).status, kPassed);
    EXPECT_FALSE(records("parts/shard-" + std::string(1, *shard) + "-of-3").empty());
  }
  const Outcome merged = merge("parts", "merged");
  EXPECT_EQ(merged.status, kPassed) << merged.out << merged.err;
  EXPECT_EQ(records("whole").size(), 4u);
  EXPECT_EQ(records("merged"), records("whole"));
  EXPECT_TRUE(fs::exists(at("merged/sweep.html")));
  edit("parts/shard-1-of-3/sweep.jsonl", R"re("gpu": ?"[^"]*")re", R"re("gpu":"another")re");
  const Outcome mixed = merge("parts", "mixed");
  EXPECT_EQ(mixed.status, kBadCall) << mixed.out;
  EXPECT_NE(mixed.err.find("holds timings of "), std::string::npos) << mixed.err;
}
/// The machine of one part has no GPU, and that of the other has one. Here a file says so.
TEST_F(MergeCommand, AKernelThatOnePartCouldNotRunIsLacking) {
  const std::string line = "report --key online_warp/f16@host --family normal_1 --V 33 --V 129 --rows 1";
  for (const char* shard : {"0/2", "1/2"}) EXPECT_EQ(run(line, "parts", shard).status, kPassed);
  const std::string about = at("parts/shard-0-of-2/about.json");
  nlohmann::json j = nlohmann::json::parse(read_file(about));
  j["keys"][0]["not_run"] = "no GPU: no driver";
  j["planned"] = j["executed"] = 0;
  std::ofstream(about) << j.dump();
  const std::string file = at("parts/shard-0-of-2/records.jsonl");
  std::string records = read_file(file);
  const std::string ran = "\"status\":\"pass\"";
  ASSERT_NE(records.find(ran), records.npos);
  for (std::size_t i = 0; (i = records.find(ran, i)) != records.npos;)
    records.replace(i, ran.size(), "\"status\":\"not_run\"");
  std::ofstream(file) << records;
  const Outcome merged = merge("parts", "merged");
  EXPECT_EQ(merged.status, kEnvironment) << merged.out;
  EXPECT_NE(merged.out.find("\nINCOMPLETE: "), std::string::npos) << merged.out;
  EXPECT_NE(merged.out.find("online_warp/f16@host did not run in one part ("), std::string::npos)
      << merged.out;
  EXPECT_NE(read_file(at("merged/summary.md")).find(": INCOMPLETE"), std::string::npos);
}

TEST_F(MergeCommand, BringsTheCasesOfAFuzz) {
  const std::string line = "fuzz mutant.max_from_zero/f32@host --evaluations 64 --jobs 1 --in-process";
  for (const char* shard : {"0/2", "1/2"}) EXPECT_EQ(run(line, "parts", shard).status, kFailed);
  const Outcome merged = merge("parts", "merged");
  EXPECT_EQ(merged.status, kFailed);
  fs::remove_all(at("parts"));
  const std::vector<Record> records = read_records(at("merged/records.jsonl"));
  EXPECT_GE(records.size(), 2u);
  const std::string found = std::to_string(records.size()) + " inputs that fail were found";
  EXPECT_NE(merged.out.find(found), merged.out.npos) << merged.out;
  for (const Record& r : records) {
    ASSERT_TRUE(r.reproduce.starts_with("assay replay " + at("merged"))) << r.reproduce;
    EXPECT_EQ(call_words({"replay", r.reproduce.substr(13)}).status, kFailed);
  }
}

}  // namespace
}  // namespace assay

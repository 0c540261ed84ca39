// SPDX-License-Identifier: Apache-2.0
// The parts of a run are disjoint and together the whole, and `assay merge` says what is missing.
#include "reports/merge/merge.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "kernels/device.hpp"
#include "kernels/registry.hpp"
#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/cli/long_runs/process_test.hpp"
#include "reports/data/compare.hpp"
#include "reports/data/files.hpp"
#include "reports/records/record_lines.hpp"
#include "reports/sweep/data/record.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using command_test::call_words;
using command_test::Outcome;

class MergeCommand : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return (own_.path() / name).string(); }
  Outcome run(const std::string& line, const std::string& folder, const std::string& shard = "") const {
    std::vector<std::string> words = command_test::words_of(line);
    words.insert(words.end(), {"--out", at(folder)});
    if (!shard.empty()) words.insert(words.end(), {"--shard", shard});
    return call_words(words);
  }
  Outcome merge(const std::string& from, const std::string& to) const {
    return call_words({"merge", at(from), "--out", at(to)});
  }
  std::vector<std::string> lines(const std::string& file) const {
    std::vector<std::string> all;
    std::istringstream in(read_file(at(file)));
    for (std::string line; std::getline(in, line);) all.push_back(without_run(line));
    std::sort(all.begin(), all.end());
    return all;
  }
  /// The whole run, and its parts merged, have the same lines, but for what the first says of the run.
  void expect_whole(const std::string& line, const std::string& file, int count, int status) const {
    EXPECT_EQ(run(line, "whole").status, status);
    int worst = 0;
    for (int i = 0; i < count; ++i) {
      const Outcome part = run(line, "parts", std::to_string(i) + "/" + std::to_string(count));
      EXPECT_LE(part.status, kFailed) << part.err;
      worst = std::max(worst, part.status);
    }
    EXPECT_EQ(worst, status);
    const Outcome merged = merge("parts", "merged");
    EXPECT_EQ(merged.status, status) << merged.out << merged.err;
    EXPECT_EQ(lines("merged/" + file), lines("whole/" + file));
    EXPECT_TRUE(fs::exists(at("merged/index.html")));
  }
  TestFolder own_;
};

TEST_F(MergeCommand, PartsOfAReportAreTheWholeReport) {
  expect_whole(
      "report --key online_warp/f16@host --key safe_block/f32@host --family normal_1 --family probe --family "
      "ties "
      "--V 33 --V 129 --rows 2 --threads 1",
      "records.jsonl", 3, kPassed);
}
TEST_F(MergeCommand, PartsOfACheckAreTheWholeCheck) {
  expect_whole(
      "check online_warp/f16@host mutant.sum_skips_tail/f32@host safe_block/f32@host --only batch --only "
      "shapes --V 257 --quick --threads 2",
      "records.jsonl", 4, kFailed);
}
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
    for (const SweepRecord& r : read_sweep(at(folder + "/sweep.jsonl")))
      if (r.role != "ceiling")
        all.push_back(identity(r) + " " + r.status + " " + r.verified + " " +
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
}
TEST_F(MergeCommand, PartsOfASelftestAreTheWholeSelftest) {
  const std::string line = "selftest --key M17 --quick --threads 1";  // four types on the host
  const auto entries = [&](const std::string& folder) {
    std::vector<std::string> all;
    std::istringstream in(read_file(at(folder + "/selftest.jsonl")));
    for (std::string one; std::getline(in, one);) {
      auto entry = nlohmann::json::parse(one);
      entry.erase("run");  // of the first entry: when it was made, and how long it took
      all.push_back(entry.dump());
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  EXPECT_EQ(run(line, "whole").status, kPassed);
  for (const char* shard : {"0/2", "1/2"}) EXPECT_EQ(run(line, "parts", shard).status, kPassed);
  const Outcome merged = merge("parts", "merged");
  EXPECT_EQ(merged.status, kPassed) << merged.out << merged.err;
  EXPECT_GE(entries("whole").size(), 4u);
  EXPECT_EQ(entries("merged"), entries("whole"));
}

TEST_F(MergeCommand, AMissingPartIsNamedWithItsCommand) {
  const std::string line = "report --key online_warp/f16@host --family normal_1 --V 33 --V 129 --rows 1";
  for (const char* shard : {"0/3", "1/3", "2/3"}) EXPECT_EQ(run(line, "parts", shard).status, kPassed);
  fs::rename(at("parts/shard-1-of-3"), at("kept"));
  const Outcome merged = merge("parts", "merged");
  EXPECT_EQ(merged.status, kEnvironment);
  EXPECT_NE(merged.err.find("1 of 3 shards are not there"), std::string::npos) << merged.err;
  EXPECT_NE(
      merged.err.find("shard 1/3 is missing: assay " + line + " --shard 1/3 --out " + at("parts") + "\n"),
      std::string::npos)
      << merged.err;
  EXPECT_FALSE(fs::exists(at("merged/records.jsonl")));
  // One that was killed is named too.
  fs::create_directories(at("parts/shard-1-of-3"));
  std::ofstream(at("parts/shard-1-of-3/unfinished.jsonl")) << "{}\n";
  EXPECT_NE(merge("parts", "merged").err.find("shard 1/3 did not end ("), std::string::npos);
  // Parts may lie anywhere.
  fs::remove_all(at("parts/shard-1-of-3"));
  EXPECT_EQ(call_words({"merge", at("kept"), at("parts"), "--out", at("merged")}).status, kPassed);
  EXPECT_EQ(call_words({"merge", at("kept"), at("kept") + "/", at("parts"), "--out", at("merged")}).status,
            kBadCall);
}

TEST_F(MergeCommand, RefusesWhatIsNoPartOfTheSameRun) {
  const std::string line = "report --key online_warp/f16@host --family normal_1 --V 33 --rows 1";
  run(line, "parts", "0/2");
  run(line + " --seed 2", "parts", "1/2");
  const Outcome other = merge("parts", "merged");
  EXPECT_EQ(other.status, kBadCall);
  EXPECT_NE(other.err.find("no parts of one run: another command"), std::string::npos) << other.err;
  EXPECT_EQ(merge("nowhere", "merged").status, kBadCall);
  fs::create_directories(at("empty"));
  EXPECT_EQ(merge("empty", "merged").status, kBadCall);
  // A record that is lost on the way is noticed.
  run(line, "parts", "1/2");
  std::ofstream(at("parts/shard-1-of-2/records.jsonl"), std::ios::app) << "{\"status\":\"pass\"}\n";
  EXPECT_EQ(merge("parts", "merged").status, kBadCall);
}

/// The verdict of a part may be read as that of the whole: so each of its files and lines says that it is a
/// part.
TEST_F(MergeCommand, EverythingThatAPartSaysNamesThePart) {
  const std::string line = "report --key online_warp/f16@host --family normal_1 --V 33 --V 129 --rows 1";
  for (const char* shard : {"0/2", "1/2"}) {
    const std::string part = std::string("part ") + *shard + " of 2";
    const Outcome o = run(line, "parts", shard);
    EXPECT_EQ(o.status, kPassed) << o.err;
    EXPECT_NE(o.out.find(part + " of this run, taken from --shard; "), std::string::npos) << o.out;
    EXPECT_NE(o.out.find("\nPASS (" + part + "): all planned cases ran"), std::string::npos) << o.out;
    const std::string folder = at("parts/shard-" + std::string(1, *shard) + "-of-2");
    EXPECT_TRUE(
        read_file(folder + "/summary.md").starts_with("# Softmax accuracy report: PASS (" + part + ")"));
    EXPECT_NE(read_file(folder + "/index.html").find("P" + part.substr(1) + " of this run: all planned"),
              std::string::npos);
    // The pages that are made again say it, too.
    EXPECT_EQ(call_words({"page", folder}).status, kPassed);
    EXPECT_NE(read_file(folder + "/index.html").find("P" + part.substr(1) + " of this run: all planned"),
              std::string::npos);
  }
  EXPECT_EQ(merge("parts", "merged").status, kPassed);
  for (const char* file : {"summary.md", "index.html", "about.json"})
    EXPECT_EQ(read_file(at("merged/") + file).find("art 0 of 2"), std::string::npos) << file;
  const Outcome whole = run(line, "whole");
  EXPECT_EQ(whole.out.find("part "), std::string::npos) << whole.out;
  EXPECT_NE(run("check online_warp/f16@host safe_block/f32@host --quick --only batch", "check", "1/2")
                .out.find("\nPASS (part 1 of 2): all planned cases ran"),
            std::string::npos);
  EXPECT_TRUE(
      run("selftest --key M17 --quick --threads 1", "selftest", "0/2").out.find("\nPASS (part 0 of 2): ") !=
      std::string::npos);
  EXPECT_NE(read_file(at("selftest/shard-0-of-2/selftest.html")).find("This is part 0 of 2 of a run: "),
            std::string::npos);
}

/// More parts than cases: one without a case has nothing that failed, and ends with 0. It must not say FAIL.
TEST_F(MergeCommand, APartWithoutACaseDoesNotFail) {
  const std::string line = "report --key online_warp/f16@host --family normal_1 --V 33 --rows 1";
  EXPECT_NE(run(line, "parts", "0/2").out.find("\nPASS (part 0 of 2): "), std::string::npos);
  const Outcome empty = run(line, "parts", "1/2");
  EXPECT_EQ(empty.status, kPassed) << empty.err;
  EXPECT_NE(empty.out.find("\nNOT JUDGED (part 1 of 2): no case was executed"), std::string::npos)
      << empty.out;
  EXPECT_EQ(empty.out.find("FAIL"), std::string::npos) << empty.out;
  EXPECT_EQ(merge("parts", "merged").status, kPassed);
  const Outcome selftest = run("selftest --key M17 --quick --threads 1", "selftest", "31/32");
  EXPECT_EQ(selftest.status, kPassed) << selftest.err;
  EXPECT_NE(selftest.out.find("\nNOT RUN (part 31 of 32): nothing ran"), std::string::npos) << selftest.out;
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

TEST_F(MergeCommand, APartWhoseMachineRunsNothingIsOfNoUse) {
  if (unavailable_reason(Backend::cuda).empty()) GTEST_SKIP() << "a GPU is here";
  if (!find_variant("safe_block/f32@cuda")) GTEST_SKIP() << "compiled without CUDA";
  const Outcome o =
      run("report --key safe_block/f32@cuda --family normal_1 --V 33 --V 129 --rows 1", "parts", "0/2");
  EXPECT_EQ(o.status, kEnvironment) << o.out;
  EXPECT_NE(o.out.find("\nNOT RUN (part 0 of 2): "), std::string::npos) << o.out;
}

TEST_F(MergeCommand, RefusesToWriteOverOneOfItsParts) {
  const std::string line = "report --key online_warp/f16@host --family normal_1 --V 33 --V 129 --rows 1";
  for (const char* shard : {"0/2", "1/2"}) EXPECT_EQ(run(line, "parts", shard).status, kPassed);
  const std::string before = read_file(at("parts/shard-0-of-2/records.jsonl"));
  fs::create_directory_symlink(at("parts/shard-0-of-2"), at("link"));
  for (const char* out : {"parts/shard-0-of-2", "parts/../parts/shard-0-of-2/", "link"}) {
    const Outcome merged = merge("parts", out);
    EXPECT_EQ(merged.status, kBadCall) << out;
    EXPECT_NE(merged.err.find("is one of the parts that are merged"), std::string::npos) << merged.err;
    EXPECT_EQ(std::count(merged.err.begin(), merged.err.end(), '\n'), 1) << merged.err;
    EXPECT_EQ(read_file(at("parts/shard-0-of-2/records.jsonl")), before);
  }
  EXPECT_EQ(merge("parts", "parts").status, kPassed);
}

/// The records of the folder are replaced: a contract of kernels that are no longer there must not stay.
TEST_F(MergeCommand, TheContractOfAnOlderCheckGoesWithItsRecords) {
  const std::string report = "report --key online_warp/f16@host --family normal_1 --V 33 --V 129 --rows 1";
  for (const char* shard : {"0/2", "1/2"}) EXPECT_EQ(run(report, "parts", shard).status, kPassed);
  const std::string check = "check safe_block/f32@host --quick --only batch";
  for (const bool merges : {true, false}) {
    const std::string out = merges ? "merged" : "reported";
    EXPECT_EQ(run(check, out).status, kPassed);
    EXPECT_TRUE(fs::exists(at(out + "/contract.json")));
    EXPECT_EQ((merges ? merge("parts", out) : run(report, out)).status, kPassed);
    EXPECT_FALSE(fs::exists(at(out + "/contract.json")));
    EXPECT_TRUE(fs::exists(at(out + "/records.jsonl")));
  }
  // A file of another kind stays.
  std::ofstream(at("merged/contract.json")) << "{\"signed\": true}\n";
  EXPECT_EQ(merge("parts", "merged").status, kPassed);
  EXPECT_TRUE(fs::exists(at("merged/contract.json")));
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

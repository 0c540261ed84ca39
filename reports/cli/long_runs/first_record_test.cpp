// SPDX-License-Identifier: Apache-2.0
// The first record of every records.jsonl says by which program, where and when the file was made. No other
// record does, whatever command wrote the file.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/compare.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/records/record_lines.hpp"
#include "reports/records/record_stream.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class FirstRecord : public command_test::FolderTest {
 protected:
  void run(const std::string& line, const std::string& folder) const {
    const command_test::Outcome o = command_test::call("assay " + line + " --out " + at(folder));
    EXPECT_LE(o.status, 1) << line << o.err;
  }
  /// The file's first record has the run, and no other record has.
  json only_run(const std::string& file, std::size_t least) const {
    const std::vector<std::string> all = lines(file);
    EXPECT_GE(all.size(), least) << file;
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_EQ(json::parse(all[i]).contains("run"), i == 0) << file << " line " << i + 1;
    return all.empty() ? json() : json::parse(all[0]).value("run", json::object());
  }
};

std::string fact(const std::string& label) {
  for (const auto& [known, value] : environment())
    if (known == label) return value;
  return {};
}

TEST_F(FirstRecord, SaysByWhatOnWhatAndWhenTheFileWasMade) {
  run("report --key safe_block/f32@host --family normal_1 --family ties --V 33 --V 65", "report");
  const json j = only_run("report/records.jsonl", 4);
  EXPECT_EQ(j["version"], kRecordsVersion);
  EXPECT_EQ(fact("assay"),
            j["assay"].get<std::string>() + " (commit " + j["commit"].get<std::string>() + ")");
  EXPECT_TRUE(j["driver"].is_string());
  for (const auto& [label, field] : {std::pair{"system", "system"}, std::pair{"CPU", "cpu"},
                                     std::pair{"GPU", "gpu"}, std::pair{"host compiler", "compiler"},
                                     std::pair{"host flags", "flags"}, std::pair{"CUDA compiler", "cuda"}}) {
    EXPECT_EQ(j[field], fact(label));
    EXPECT_NE(fact(label), "") << label;
  }
  EXPECT_TRUE(
      std::regex_match(j["date"].get<std::string>(), std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")))
      << j;
  EXPECT_LE(j["date"].get<std::string>(), utc_now());
}

TEST_F(FirstRecord, IsTheSameFromEveryCommand) {
  run("check safe_block/f32@host --quick --only shapes --V 257", "check");
  only_run("check/records.jsonl", 2);
  run("fuzz mutant.max_from_zero/f32@host mutant.no_max/f32@host --evaluations 64 --jobs 1 --in-process",
      "fuzz");
  only_run("fuzz/records.jsonl", 2);
  run("fuzz safe_block/f32@host --evaluations 32 --jobs 1 --in-process", "nothing");
  EXPECT_EQ(read_file(at("nothing/records.jsonl")), "");
  run("adopt safe_block/f32@host --quick --only batch --evaluations 32", "adopt");
  only_run("adopt/check/records.jsonl", 2);
  run("verify " + at("adopt/certificate.json") + " --cases 3", "verify");
  only_run("verify/records.jsonl", 2);
}

TEST_F(FirstRecord, OfMergedPartsIsTheFirstOfAll) {
  const std::string line =
      "report --key online_warp/f16@host --family normal_1 --family ties --V 33 --V 129 --rows 1";
  for (const char* shard : {"0/3", "1/3", "2/3"}) run(line + " --shard " + shard, "parts");
  const json first = only_run("parts/shard-0-of-3/records.jsonl", 1);
  only_run("parts/shard-1-of-3/records.jsonl", 1);
  run("merge " + at("parts"), "merged");
  EXPECT_EQ(only_run("merged/records.jsonl", 4), first);
  // Without the run, every line is what the part had, to the byte.
  std::vector<std::string> parts;
  for (const char* part : {"0", "1", "2"})
    for (const std::string& l : lines(std::string("parts/shard-") + part + "-of-3/records.jsonl"))
      parts.push_back(without_run(l));
  std::vector<std::string> merged = lines("merged/records.jsonl");
  merged[0] = without_run(merged[0]);
  EXPECT_EQ(merged, parts);
  for (const char* folder : {"0", "1"})
    run("fuzz mutant.max_from_zero/f32@host --evaluations 64 --jobs 1 --in-process --seed 1" +
            std::string(folder),
        folder);
  run("fuzz --merge " + at("0") + " --merge " + at("1"), "both");
  EXPECT_EQ(only_run("both/records.jsonl", 2), only_run("0/records.jsonl", 1));
}

TEST_F(FirstRecord, ChangesNothingElseAndMayBeAbsent) {
  run("report --key safe_block/f32@host --family normal_1 --V 33 --V 65", "new");
  const std::vector<Record> records = read_records(at("new/records.jsonl"));
  std::string old;
  for (const Record& r : records) old += record_line(r);
  std::string now;
  for (const std::string& l : lines("new/records.jsonl")) now += without_run(l) + "\n";
  EXPECT_EQ(now, old);
  // A file of an older version.
  fs::create_directories(at("old"));
  fs::copy_file(at("new/about.json"), at("old/about.json"));
  write_files({{at("old/records.jsonl"), old}});
  std::string read;
  EXPECT_EQ(for_each_record(
                at("old/records.jsonl"), [&](const Record& r) { read += record_line(r); }, 1),
            2);
  EXPECT_EQ(for_each_record(
                at("new/records.jsonl"), [&](const Record& r) { read += record_line(r); }, 1),
            2);
  EXPECT_EQ(read, old + old);
  for (const char* folder : {"old", "new"})
    EXPECT_EQ(command_test::call("assay page " + at(folder)).status, kPassed);
  EXPECT_EQ(read_file(at("old/compare.html")), read_file(at("new/compare.html")));
  EXPECT_EQ(
      command_test::call("assay history " + at("old") + " " + at("new") + " --out " + at("history")).status,
      kPassed);
}

}  // namespace
}  // namespace assay

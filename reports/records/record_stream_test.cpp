// SPDX-License-Identifier: Apache-2.0
// Records read one at a time are the records that the reader of single values reads; and a broken line is
// named.
#include "reports/records/record_stream.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/fault_kind.hpp"
#include "reference/error.hpp"
#include "reports/data/files.hpp"
#include "reports/records/record_parser.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A record in which every field is set, also those that most records lack.
Record full_record() {
  Record r;
  r.key = "online_block/f32@host", r.variant = "online_block", r.dtype = "f32", r.backend = "host";
  r.op = "softmax", r.family = "gpt_logits", r.V = 4099, r.rows = 8, r.rows_judged = 6;
  r.p99_ulp = 1.25, r.mean_ulp = 0.1, r.correctly_rounded = 0.5, r.max_bound_ratio = 0.75;
  r.checks = {{Check::element, 4099, 0, 0, 0.5, ""}, {Check::row_sum, 8, 1, 0, 1.5, "row 3"}};
  r.worst = WorstElement{0, 17, -3.5, -20.75, 9.31e-10, 9.309e-10, 9.3091e-10, 19.9, 0.46};
  r.reproduce = "assay report --key online_block/f32@host --family gpt_logits --V 4099 --rows 8 --seed 1";
  r.group = "shapes", r.setup = "offset_6", r.reason = "why \"<>\n", r.k = 5, r.seed = 0xffffffffffffffff;
  r.wants = FaultKind::memory, r.status = Status::inconclusive;
  r.resolution = 1e-5, r.resolution_sum = INFINITY, r.weak_share = 0.25, r.escalated = 3, r.rows_outside = 2;
  r.open = 4;
  r.lowest_maximum = -INFINITY, r.highest_maximum = 1.5;
  r.returned = "NaN x3", r.behaves_like = "safe", r.nearest = Nearest::other_class, r.alone = Alone::fails;
  r.at_first = "killed", r.evidence = {"one", "two, \\ and \"three\""};
  r.checks[0].undecided = 7, r.checks[0].detail = "row 3", r.checks[0].cause = FaultKind::memory;
  r.checks[0].utilisation = INFINITY;
  r.max_ulp = NAN;
  r.worst->bound_ratio = INFINITY;
  return r;
}

/// What the library makes of a line: the record as JSON, or "" if it refuses the line.
std::string by_the_library(const std::string& line) {
  try {
    return to_json(record_from_json(nlohmann::json::parse(line))).dump();
  } catch (const std::exception&) {
    return "";
  }
}

class RecordStream : public testing::Test {
 protected:
  RecordStream() : folder_(fs::temp_directory_path() / ("assay-stream-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~RecordStream() override { fs::remove_all(folder_); }
  std::vector<std::string> read(const fs::path& file, int threads) {
    std::vector<std::string> out;
    const std::int64_t n = for_each_record(
        file, [&](const Record& r) { out.push_back(to_json(r).dump()); }, threads);
    EXPECT_EQ(n, static_cast<std::int64_t>(out.size()));
    return out;
  }
  fs::path folder_;
};

TEST_F(RecordStream, ReadsUsualLinesAsTheLibraryDoes) {
  RecordParser parser;
  const Record all = full_record();
  Record none;
  none.key = "k";
  Record old;  // its facts are in sentences
  old.status = Status::unsupported, old.reason = "domain: V above 1";
  nlohmann::json line_of_old = to_json(old);
  line_of_old.erase("facts");
  ASSERT_TRUE(parser.parse_usual(line_of_old.dump()));
  EXPECT_EQ(parser.parse_usual(line_of_old.dump())->why, Why::domain);
  for (const Record& r : {all, none, all, none}) {
    const std::string line = to_json(r).dump();
    const Record* const read = parser.parse_usual(line);
    ASSERT_TRUE(read) << line;
    EXPECT_EQ(to_json(*read).dump(), line) << "a parser must forget the record before";
    EXPECT_EQ(by_the_library(line), line);
  }
}

// Lines with one or two bytes changed, cut off or doubled: what the fast reader accepts is what the library
// reads.
TEST_F(RecordStream, AcceptsNoLineThatTheLibraryReadsOtherwise) {
  RecordParser parser;
  Record plain = full_record();
  plain.reason = "why", plain.evidence = {"one"};
  const std::string lines[] = {to_json(full_record()).dump(), to_json(plain).dump(),
                               to_json(Record()).dump()};
  std::mt19937 random(7);
  constexpr std::string_view kBytes =
      "\"\\{}[],:0123456789.eE+-nulltrue \t\x01\x7f\xc3"
      "ax";
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string line = lines[i % 3];
    for (int edits = 1 + i % 2; edits > 0; --edits) {
      const std::size_t at = random() % line.size();
      const char byte = kBytes[random() % kBytes.size()];
      if (const auto how = random() % 4; how == 0)
        line.erase(at, 1);
      else if (how == 1)
        line.insert(at, 1, byte);
      else
        line[at] = byte;
    }
    const Record* const read = parser.parse_usual(line);
    if (!read) continue;
    ++accepted;
    ASSERT_EQ(to_json(*read).dump(), by_the_library(line)) << line;
  }
  EXPECT_GT(accepted, 1000) << "many changes leave a right line";
}

TEST_F(RecordStream, LeavesUnusualLinesToTheLibrary) {
  nlohmann::json j = to_json(full_record());
  const std::string line = j.dump();
  RecordParser parser;
  for (const std::string& same :
       {j.dump(1), " " + line, line + " ", "{\"new_field\":{\"deep\":[1,{}]}," + line.substr(1)}) {
    EXPECT_EQ(parser.parse_usual(same), nullptr);
    EXPECT_EQ(to_json(parser.parse(same)).dump(), line);
  }
  // A threshold in millionths, as records had it once, and an op that lacks its k.
  nlohmann::json old = j;
  old["op"] = "min_p", old["k"] = 50000;
  EXPECT_EQ(parser.parse_usual(old.dump()), nullptr);
  EXPECT_EQ(parser.parse(old.dump()).threshold, 0.05);
  EXPECT_EQ(parser.parse(old.dump()).k, 0);
  old["op"] = "topk", old.erase("k");
  EXPECT_EQ(parser.parse_usual(old.dump()), nullptr);
  j["reason"] = "\xe2\x8a\x95";
  EXPECT_EQ(to_json(parser.parse(j.dump())).dump(), j.dump());
  for (const char* field : {"key", "family", "V", "status", "reproduce", "checks"}) {
    j = nlohmann::json::parse(line);
    j.erase(field);
    EXPECT_THROW(parser.parse(j.dump()), InputError) << field;
  }
  for (const char* wrong : {"", "7", "[1,2]", "{}", "{\"key\":"})
    EXPECT_THROW(parser.parse(wrong), InputError) << wrong;
  EXPECT_EQ(to_json(parser.parse(line)).dump(), line);
}

TEST_F(RecordStream, KeepsTheOrderOfTheFileWithAnyNumberOfThreads) {
  Record r = full_record();
  std::string text;
  std::vector<std::string> lines;
  for (r.V = 1; r.V <= 4000; ++r.V) lines.push_back(to_json(r).dump()), text += lines.back() + "\n";
  ASSERT_GT(text.size(), 4u << 20) << "several pieces";
  write_files({{folder_ / "records.jsonl", text}});
  EXPECT_EQ(read(folder_ / "records.jsonl", 1), lines);
  EXPECT_EQ(read(folder_ / "records.jsonl", 5), lines);
  const gzFile out = gzopen((folder_ / "records.jsonl.gz").c_str(), "wb1");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size() - 1));  // also without the last line's end
  gzclose(out);
  EXPECT_EQ(read(folder_ / "records.jsonl.gz", 3), lines);
}

TEST_F(RecordStream, NamesTheBrokenLine) {
  const std::string line = to_json(full_record()).dump() + "\n";
  std::string text;
  for (int i = 0; i < 3000; ++i) text += line;
  write_files({{folder_ / "records.jsonl", text + "{\"V\": 3}\n" + line + "{\n"}});
  std::int64_t before = 0;
  try {
    for_each_record(
        folder_ / "records.jsonl", [&](const Record&) { ++before; }, 4);
    ADD_FAILURE() << "no error";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("records.jsonl: line 3001: field "), std::string::npos) << e.what();
  }
  EXPECT_EQ(before, 3000);
  EXPECT_THROW(for_each_record(folder_ / "none.jsonl", [](const Record&) {}), InputError);
  EXPECT_THROW(for_each_record(folder_, [](const Record&) {}), InputError);
}

}  // namespace
}  // namespace assay

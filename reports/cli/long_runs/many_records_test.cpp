// SPDX-License-Identifier: Apache-2.0
// A million records: how long `assay merge` and `assay page` take for them, and that the memory they take
// does not grow with the number of records. `ctest -R MillionRecords -V` prints the figures of
// reports/merge/SCALE.md.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/long_runs/process_test.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/records/compare.hpp"
#include "reports/records/record_lines.hpp"
#include "reports/records/record_stream.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using process_test::Finished;

constexpr int kMegabyte = 1 << 20;

/// The published records of an H200, again and again, each round with other seeds. One line at a time: what
/// this process ever held counts as memory of the processes that it starts.
void write_records(const fs::path& file, int count) {
  const std::string published = std::string(ASSAY_SOURCE_DIR) + "/reports/published/h200/records.jsonl.gz";
  std::ofstream out(file);
  std::string line(kMegabyte, '\0');
  for (int round = 0, n = 0; n < count; ++round) {
    const gzFile in = gzopen(published.c_str(), "rb");
    ASSERT_NE(in, nullptr) << published;
    for (; n < count && gzgets(in, line.data(), kMegabyte); ++n) {
      std::string record = line.c_str();
      if (round > 0 && record.find("\"run\":") != record.npos) record = without_run(record);
      while (record.ends_with('\n')) record.pop_back();
      const std::size_t seed = record.find("\"seed\":");
      ASSERT_NE(seed, record.npos) << record;
      if (round > 0) record.insert(seed + 7, std::to_string(round));
      out << record << '\n';
    }
    gzclose(in);
  }
  ASSERT_TRUE(out.flush()) << file;
}

struct Cost {
  Finished process;
  double seconds = 0, megabytes = 0;
};

Cost cost_of(std::vector<std::string> words, const fs::path& folder) {
  words.insert(words.begin(), ASSAY_COMMAND);
  Cost c;
  const auto begin = std::chrono::steady_clock::now();
  const pid_t pid = process_test::start(words, {}, folder / "stdout", folder / "stderr");
  int status = 0;
  rusage used{};
  EXPECT_EQ(wait4(pid, &status, 0, &used), pid);
  c.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  c.megabytes = static_cast<double>(used.ru_maxrss) * 1024 / 1e6;
  if (WIFEXITED(status)) c.process.status = WEXITSTATUS(status);
  c.process.err = read_file((folder / "stderr").string());
  return c;
}

/// Merges two parts with so many records together, and makes the pages of the result again.
void expect_less_than(double megabytes, int records) {
  const TestFolder own;
  const fs::path parts = own.path() / "parts", merged = own.path() / "merged";
  if (fs::space(own.path()).available < 4000ull * records)
    GTEST_SKIP() << "no room for " << records << " records in " << own.path();
  for (const std::string index : {"0", "1"}) {
    const Finished part =
        process_test::run({"report", "--key", "safe_block/f32@host", "--family", "normal_1", "--V", "33",
                           "--V", "65", "--rows", "1", "--shard", index + "/2", "--out", parts});
    ASSERT_EQ(part.status, kPassed) << part.err;
    const fs::path folder = parts / ("shard-" + index + "-of-2");
    ASSERT_NO_FATAL_FAILURE(write_records(folder / "records.jsonl", records / 2));
    // The part says how many records it made.
    nlohmann::json end = nlohmann::json::parse(read_file((folder / "shard.json").string()));
    end["records"] = records / 2;
    std::ofstream(folder / "shard.json") << end;
  }
  const Cost merge = cost_of({"merge", parts, "--out", merged}, own.path());
  ASSERT_EQ(merge.process.status, kPassed) << merge.process.err;
  const Cost page = cost_of({"page", merged}, own.path());
  ASSERT_EQ(page.process.status, kPassed) << page.process.err;
  EXPECT_NE(read_file((merged / "summary.md").string()).find("onepass_fast"), std::string::npos);
  for (const auto& [what, cost] : {std::pair{"merge, summary and pages", merge}, {"pages alone", page}}) {
    EXPECT_LT(cost.megabytes, megabytes) << what;
    fmt::print("{} records ({:.0f} MB), {}: {:.1f} s, at most {:.0f} MB of memory\n", records,
               static_cast<double>(fs::file_size(merged / "records.jsonl")) / 1e6, what, cost.seconds,
               cost.megabytes);
  }
}

TEST(ManyRecords, AHundredThousandTakeLittleMemory) {
  if (!process_test::has_command()) GTEST_SKIP() << "no " ASSAY_COMMAND;
  expect_less_than(500, 100'000);
}

TEST(Bigmem, MillionRecordsTakeLessThanOneGigabyte) {
  if (!process_test::has_command()) GTEST_SKIP() << "no " ASSAY_COMMAND;
  expect_less_than(1000, 1'000'000);
}

// The first record of every records.jsonl says by which program, where and when the file was made. No other
// record does, whatever command wrote the file.

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

// A disk that is full, and a standard error that nobody can write to.

namespace fs = std::filesystem;
using process_test::Finished;

const char* const kSmallReport =
    "report --key online_warp/f16@host --family normal_1 --V 33 --V 65 --V 129 --V 1025 --threads 1";

class FullDisk : public command_test::FolderTest {
 protected:
  void SetUp() override {
    if (!process_test::has_command()) GTEST_SKIP() << "no " ASSAY_COMMAND;
    if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  }
  std::vector<std::string> command(const std::string& line) const {
    std::vector<std::string> words = command_test::words_of(line);
    words.insert(words.begin(), ASSAY_COMMAND);
    words.insert(words.end(), {"--out", at("out")});
    return words;
  }
};

TEST_F(FullDisk, NobodyNeedsStandardError) {
  const std::pair<const char*, const char*> all[] = {
      {kSmallReport, "records.jsonl"},
      {"check online_warp/f16@host --only shapes --V 257 --quick", "records.jsonl"},
      {"selftest --key all_zero --quick", "selftest.jsonl"},
      {"fuzz online_warp/f16@host --evaluations 32 --jobs 1 --in-process", "records.jsonl"},
      {"sweep --host --key online_warp/f16@host --V 32 --rows 1", "sweep.jsonl"},
      {"functions --backend host --stride 16777216", "functions.json"}};
  for (const auto& [line, file] : all) {
    fs::remove_all(at("out"));
    const Finished usual =
        process_test::wait_for(process_test::start(command(line), {}, "/dev/null", at("err")));
    ASSERT_TRUE(usual.status == kPassed || usual.status == kFailed) << line << read_file(at("err"));
    fs::remove_all(at("out"));
    const Finished full =
        process_test::wait_for(process_test::start(command(line), {}, "/dev/null", "/dev/full"));
    EXPECT_EQ(full.status, usual.status) << line;
    EXPECT_TRUE(fs::exists(at("out") + "/" + file)) << line;
  }
}

TEST_F(FullDisk, AFullStandardOutputEndsTheRunWhereItBegins) {
  const Finished full =
      process_test::wait_for(process_test::start(command(kSmallReport), {}, "/dev/full", at("err")));
  EXPECT_EQ(full.status, kEnvironment);
  EXPECT_EQ(read_file(at("err")), "assay: standard output cannot be written: No space left on device\n");
  EXPECT_FALSE(fs::exists(at("out/records.jsonl")));
}

TEST_F(FullDisk, AFullStandardOutputLosesNoFindingOfASearch) {
  const Finished full = process_test::wait_for(process_test::start(
      command("fuzz mutant.max_from_zero/f32@host safe_block/f32@host --evaluations 64 --jobs 1 --seed 1"),
      {}, "/dev/full", at("err")));
  EXPECT_EQ(full.status, kEnvironment) << read_file(at("err"));
  EXPECT_NE(read_file(at("out/records.jsonl")).find("mutant.max_from_zero"), std::string::npos);
  EXPECT_FALSE(fs::exists(at("out/unfinished.jsonl")));
}

TEST_F(FullDisk, HelpThatNobodyGetsIsAnError) {
  for (const char* line : {"--help", "check --help", "--version"}) {
    std::vector<std::string> words = command_test::words_of(line);
    words.insert(words.begin(), ASSAY_COMMAND);
    EXPECT_EQ(process_test::wait_for(process_test::start(words, {}, "/dev/full", at("err"))).status,
              kEnvironment)
        << line;
  }
}

TEST_F(FullDisk, AFailingWriteEndsTheRunAtOnce) {
  // No file may grow beyond a few thousand bytes.
  std::vector<std::string> words = {"sh", "-c", "ulimit -f 4; exec \"$0\" \"$@\""};
  for (const std::string& w : command(kSmallReport)) words.push_back(w);
  const Finished full = process_test::wait_for(process_test::start(words, {}, "/dev/null", at("err")));
  EXPECT_EQ(full.status, kEnvironment) << full.signal;
  const std::string err = read_file(at("err"));
  EXPECT_NE(err.find("assay: " + at("out") + "/unfinished.jsonl: cannot be written: File too large\n"),
            std::string::npos)
      << err;
  EXPECT_FALSE(fs::exists(at("out/records.jsonl")));
}

}  // namespace
}  // namespace assay

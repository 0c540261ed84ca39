// SPDX-License-Identifier: Apache-2.0
// A million records: how long `assay merge` and `assay page` take for them, and that the memory they take
// does not grow with the number of records. `ctest -R MillionRecords -V` prints the figures of
// reports/merge/SCALE.md.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <zlib.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reports/cli/commands.hpp"
#include "reports/cli/long_runs/process_test.hpp"
#include "reports/records/record_lines.hpp"

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

}  // namespace
}  // namespace assay

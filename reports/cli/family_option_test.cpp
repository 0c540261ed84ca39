// SPDX-License-Identifier: Apache-2.0
// Every command draws any family that `assay list --families` lists, if --family names it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "reference/inputs/inputs.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/files.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// What a call prints. Its status must be 0.
std::string printed(const std::string& line) {
  const command_test::Outcome o = command_test::call(line);
  EXPECT_EQ(o.status, kPassed) << line << "\n" << o.err;
  return o.out;
}

/// " --family NAME" for each family that only one group of `assay check` tries by itself.
std::string of_one_group() {
  std::string words;
  for (const Family& f : all_families())
    if (f.group) words += std::string(" --family ") + f.name;
  return words;
}

TEST(FamilyOption, EveryFamilyIsListedWithWhoTriesItAndWhy) {
  const std::string list = "\n" + printed("assay list --families");
  for (const Family& f : all_families()) {
    const std::size_t at = list.find("\n" + std::string(f.name) + " ");
    ASSERT_NE(at, list.npos) << f.name;
    const std::string line = list.substr(at + 1, list.find('\n', at + 1) - at - 1);
    EXPECT_NE(line.find(f.why), line.npos) << line;
    EXPECT_NE(line.find(f.group ? "check (" + std::string(f.group) + ")" : "every command"), line.npos)
        << line;
  }
  EXPECT_NE(list.find("\nprobe "), list.npos);
}

TEST(FamilyOption, ReportInputsAndSweepDrawWhatOneGroupOfCheckTries) {
  ASSERT_NE(of_one_group(), "");
  const fs::path folder = fs::temp_directory_path() / ("assay-family-option-" + std::to_string(::getpid()));
  printed("assay report --key safe_block/f32@host --V 33" + of_one_group() + " --out " +
          (folder / "report").string());
  const std::string records = read_file(folder / "report/records.jsonl");
  printed("assay inputs --V 33" + of_one_group() + " --out " + (folder / "inputs").string());
  for (const Family& f : all_families()) {
    EXPECT_EQ(records.find("\"family\":\"" + std::string(f.name) + "\"") != records.npos, f.group != nullptr)
        << f.name;
    EXPECT_EQ(fs::exists(folder / "inputs" / (std::string(f.name) + "_V33.npy")), f.group != nullptr)
        << f.name;
    if (f.group)
      printed("assay sweep launch --key online_block/f32@host --V 33 --rows 2 --family " +
              std::string(f.name));
  }
  fs::remove_all(folder);
}

/// Every name of the list is taken, or the message says who takes it.
TEST(FamilyOption, TheProbeRunsInCheckWithOrWithoutOnly) {
  const fs::path folder = fs::temp_directory_path() / ("assay-family-probe-" + std::to_string(::getpid()));
  const std::string check = "assay check safe_block/f32@host --family probe --out " + folder.string();
  for (const char* only : {"", " --only families"}) {
    printed(check + only);
    const std::string records = read_file(folder / "records.jsonl");
    EXPECT_EQ(std::count(records.begin(), records.end(), '\n'), 1) << records;
    EXPECT_NE(records.find("\"family\":\"probe\""), records.npos) << records;
    EXPECT_NE(records.find("\"behaves_like\":\"safe"), records.npos) << records;
  }
  const command_test::Outcome none = command_test::call(check + " --only shapes");
  EXPECT_EQ(none.status, kBadCall);
  EXPECT_NE(none.err.find("the plan is empty"), none.err.npos) << none.err;
  fs::remove_all(folder);
}

TEST(FamilyOption, CommandsThatDrawRowsSayWhyTheyDoNotTakeTheProbe) {
  for (const char* command : {"inputs --out none", "sweep", "sweep launch --key online_block/f32@host",
                              "sweep oracle", "sweep split"}) {
    const command_test::Outcome o = command_test::call(std::string("assay ") + command + " --family probe");
    EXPECT_EQ(o.status, kBadCall) << command;
    EXPECT_EQ(o.err,
              "assay: --family probe: its rows depend on the kernel's outputs: only assay report and assay "
              "check take it\n")
        << command;
  }
}

TEST(FamilyOption, AWrongNameIsUnknownWithOrWithoutOnly) {
  for (const char* only : {"", " --only families"}) {
    const command_test::Outcome o =
        command_test::call(std::string("assay check safe_block/f32@host --family normal1") + only);
    EXPECT_EQ(o.status, kBadCall);
    EXPECT_NE(o.err.find("--family normal1: unknown"), o.err.npos) << o.err;
    EXPECT_NE(o.err.find("did you mean normal_1?"), o.err.npos) << o.err;
  }
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Every command draws any family that `assay list --families` lists, if --family names it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "reference/inputs/inputs.hpp"
#include "reports/cli/command_test.hpp"

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
  const TestFolder own;
  const fs::path& folder = own.path();
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
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Right kernels of other authors, each an unchanged file and its entry. The quick check passes them with
// nothing declared.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "reports/cli/commands.hpp"
#include "reports/data/compare.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A file of kernels/adapter/right. Its first lines say how it is called: "// entry: DECLARATION" and, if T
/// stands for several types, "// types: f16,f32".
struct RightFile {
  fs::path path;
  std::string entry, types;
};
void PrintTo(const RightFile& f, std::ostream* o) { *o << f.path.filename().string(); }

std::vector<RightFile> right_files() {
  std::vector<RightFile> all;
  std::error_code none;  // a bundle has no sources
  for (const auto& at : fs::directory_iterator(ASSAY_SOURCE_DIR "/kernels/adapter/right", none)) {
    RightFile f{at.path(), {}, {}};
    std::ifstream in(f.path);
    for (std::string line; std::getline(in, line) && line.starts_with("//");)
      for (const auto& [word, into] : {std::pair("// entry: ", &f.entry), std::pair("// types: ", &f.types)})
        if (line.starts_with(word)) *into = line.substr(std::string(word).size());
    all.push_back(f);
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return all;
}

class RightFiles : public testing::TestWithParam<RightFile> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RightFiles);

TEST_P(RightFiles, PassTheQuickCheckUndeclared) {
  const RightFile& f = GetParam();
  ASSERT_NE(f.entry, "");
  const fs::path out = fs::temp_directory_path() /
                       ("assay-right-" + f.path.stem().string() + "-" + std::to_string(::getpid()));
  const std::string file = f.path.string(), folder = out.string();
  std::vector<const char*> argv = {"assay",   "check",         file.c_str(), "--host",      "--quick",
                                   "--entry", f.entry.c_str(), "--out",      folder.c_str()};
  if (!f.types.empty()) argv.insert(argv.end(), {"--types", f.types.c_str()});
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = run_assay(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  const std::string text = testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, kPassed) << text;
  if (status == kPassed) {
    for (const Record& r : read_records(out / "records.jsonl"))
      EXPECT_NE(r.status, Status::not_run) << r.reproduce;
  }
  fs::remove_all(out);
}

INSTANTIATE_TEST_SUITE_P(Of, RightFiles, testing::ValuesIn(right_files()),
                         [](const auto& i) { return i.param.path.stem().string(); });

TEST(RightFilesFolder, HoldsTenWaysAndEveryType) {
  const std::vector<RightFile> all = right_files();
  if (all.empty()) GTEST_SKIP() << "the sources are not on this machine";
  EXPECT_GE(all.size(), 10u);
  std::string said;
  for (const RightFile& f : all) said += f.types + " " + f.entry + "\n";
  for (const char* part : {"f16,", "bf16,", "const float*", "__half*", "half*", "__nv_bfloat16 *"})
    EXPECT_NE(said.find(part), said.npos) << part;
}

}  // namespace
}  // namespace assay

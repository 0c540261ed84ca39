// SPDX-License-Identifier: Apache-2.0
// Kernels in files whose first lines say how they are called and what must come of it:
// kernels/adapter/examples get exactly the contract that they state, and kernels/adapter/right, unchanged
// files of other authors, pass the quick check with nothing declared.
#include <algorithm>
#include <fstream>
#include <map>

#include "kernels/device.hpp"
#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/compare.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using command_test::Outcome;

/// A file, and its first lines: "// entry: DECLARATION". "// types: f16,f32" if T stands for several. "//
/// needs: device" if the host executor cannot run it. "// arg: NAME=ROLE" if names do not tell the role. "//
/// declared: WORDS" given by the author. "// exit: STATUS". "// within: CONTRACT". "// declare: WORDS" if
/// limits are to be found.
struct Example {
  fs::path path;
  std::map<std::string, std::string> says;
  std::string operator[](const char* word) const { return says.contains(word) ? says.at(word) : ""; }
};
void PrintTo(const Example& e, std::ostream* o) { *o << e.path.filename().string(); }

std::vector<Example> examples(const char* folder, const char* ending) {
  std::vector<Example> all;
  std::error_code none;  // a bundle has no sources
  for (const auto& at : fs::directory_iterator(std::string(ASSAY_SOURCE_DIR) + folder, none)) {
    if (!at.path().string().ends_with(ending)) continue;
    Example e{at.path(), {}};
    std::ifstream in(e.path);
    for (std::string line; std::getline(in, line) && line.starts_with("//");)
      if (const std::size_t colon = line.find(": "); colon != line.npos && colon > 3)
        e.says[line.substr(3, colon - 3)] = line.substr(colon + 2);
    all.push_back(e);
  }
  std::ranges::sort(all, {}, &Example::path);
  return all;
}
std::string stem(const testing::TestParamInfo<Example>& i) { return i.param.path.stem().string(); }

/// Checks the file into the folder.
Outcome check(const Example& e, const TestFolder& out, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"check", e.path.string(), "--quick", "--out", out.path().string()};
  if (e["needs"].empty()) words.push_back("--host");
  for (const auto& [word, option] : {std::pair("entry", "--entry"), std::pair("types", "--types"),
                                     std::pair("arg", "--arg"), std::pair("declared", "--declare")})
    if (!e[word].empty()) words.insert(words.end(), {option, e[word]});
  words.insert(words.end(), more.begin(), more.end());
  return command_test::call_words(words);
}

class AdoptExamples : public testing::TestWithParam<Example> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AdoptExamples);

TEST_P(AdoptExamples, GetTheirContract) {
  const Example& e = GetParam();
  ASSERT_NE(e["entry"], "");
  ASSERT_NE(e["within"], "");
  if (const std::string why = unavailable_reason(Backend::cuda); e["needs"] == "device" && !why.empty())
    GTEST_SKIP() << "its blocks read each other's memory, which only a GPU does: " << why;
  const TestFolder out;
  const Outcome o = check(e, out);
  EXPECT_EQ(std::to_string(o.status), e["exit"]) << o.out;
  EXPECT_NE(o.out.find("within: " + e["within"] + "\n"), std::string::npos) << o.out;
  if (e["declare"].empty()) return;
  EXPECT_NE(o.out.find(e["declare"]), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("\n  outside: "), std::string::npos) << o.out;
}
INSTANTIATE_TEST_SUITE_P(Of, AdoptExamples, testing::ValuesIn(examples("/kernels/adapter/examples", ".cu")),
                         stem);

TEST(AdoptExamplesFolder, LimitsThatAreDeclaredOrAcceptedAreNoFinding) {
  const std::vector<Example> all = examples("/kernels/adapter/examples", "/registers_by_32.cu");
  if (all.empty()) GTEST_SKIP() << "the sources are not on this machine";
  const TestFolder out;
  const Outcome declared = check(all[0], out, {"--declare", all[0]["declare"]});
  EXPECT_EQ(declared.status, kPassed) << declared.out;
  EXPECT_EQ(declared.out.find("adopt with"), std::string::npos) << declared.out;
  EXPECT_EQ(check(all[0], out, {"--accept-limits"}).status, kPassed);
  // The author's declaration is a promise, and this kernel does not keep V_multiple=8.
  const Outcome broken = check(all[0], out, {"--declare", "V_multiple=8; max_V=1024"});
  EXPECT_EQ(broken.status, kFailed) << broken.out;
}

class RightFiles : public testing::TestWithParam<Example> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RightFiles);

TEST_P(RightFiles, PassTheQuickCheckUndeclared) {
  ASSERT_NE(GetParam()["entry"], "");
  const TestFolder out;
  const Outcome o = check(GetParam(), out);
  ASSERT_EQ(o.status, kPassed) << o.out;
  for (const Record& r : read_records(out.path() / "records.jsonl"))
    EXPECT_NE(r.status, Status::not_run) << r.reproduce;
}
INSTANTIATE_TEST_SUITE_P(Of, RightFiles, testing::ValuesIn(examples("/kernels/adapter/right", "")), stem);

TEST(RightFilesFolder, HoldsTenWaysAndEveryType) {
  const std::vector<Example> all = examples("/kernels/adapter/right", "");
  if (all.empty()) GTEST_SKIP() << "the sources are not on this machine";
  EXPECT_GE(all.size(), 10u);
  std::string said;
  for (const Example& e : all) said += e["types"] + " " + e["entry"] + "\n";
  for (const char* part : {"f16,", "bf16,", "const float*", "__half*", "half*", "__nv_bfloat16 *"})
    EXPECT_NE(said.find(part), said.npos) << part;
}

}  // namespace
}  // namespace assay

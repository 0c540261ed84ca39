// SPDX-License-Identifier: Apache-2.0
// Kernels in common styles: each gets exactly the contract that its first lines state.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/device.hpp"
#include "reports/cli/commands.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A file of kernels/adapter/examples, and what its first lines state. "// entry: DECLARATION". "// needs:
/// device" if the host executor cannot run it. "// arg: NAME=ROLE" if names do not tell the role. "//
/// declared: WORDS" given by the author. "// exit: STATUS". "// within: CONTRACT". "// declare: WORDS" if
/// limits are to be found.
struct Example {
  fs::path path;
  std::string entry, arg, declared, exit, within, declare, needs;
};
void PrintTo(const Example& e, std::ostream* o) { *o << e.path.filename().string(); }

std::vector<Example> examples() {
  std::vector<Example> all;
  std::error_code none;  // a bundle has no sources
  for (const auto& at : fs::directory_iterator(ASSAY_SOURCE_DIR "/kernels/adapter/examples", none)) {
    if (at.path().extension() != ".cu") continue;
    Example e{at.path(), {}, {}, {}, {}, {}, {}, {}};
    std::ifstream in(e.path);
    for (std::string line; std::getline(in, line) && line.starts_with("//");)
      for (const auto& [word, into] :
           {std::pair("// entry: ", &e.entry), std::pair("// arg: ", &e.arg), std::pair("// exit: ", &e.exit),
            std::pair("// within: ", &e.within), std::pair("// declare: ", &e.declare),
            std::pair("// needs: ", &e.needs), std::pair("// declared: ", &e.declared)})
        if (line.starts_with(word)) *into = line.substr(std::string(word).size());
    all.push_back(e);
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return all;
}

struct Ran {
  int status = 0;
  std::string text;
};

Ran check(const Example& e, const std::vector<std::string>& more = {}) {
  const fs::path out = fs::temp_directory_path() /
                       ("assay-adopt-" + e.path.stem().string() + "-" + std::to_string(::getpid()));
  std::vector<std::string> words = {"assay",   "check", e.path.string(), "--quick",
                                    "--entry", e.entry, "--out",         out.string()};
  if (e.needs.empty()) words.push_back("--host");
  if (!e.arg.empty()) words.insert(words.end(), {"--arg", e.arg});
  if (!e.declared.empty()) words.insert(words.end(), {"--declare", e.declared});
  words.insert(words.end(), more.begin(), more.end());
  std::vector<const char*> argv;
  for (const std::string& w : words) argv.push_back(w.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ran ran;
  ran.status = run_assay(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  ran.text = testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
  fs::remove_all(out);
  return ran;
}

class AdoptExamples : public testing::TestWithParam<Example> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AdoptExamples);

TEST_P(AdoptExamples, GetTheirContract) {
  const Example& e = GetParam();
  ASSERT_NE(e.entry, "");
  ASSERT_NE(e.within, "");
  if (const std::string why = unavailable_reason(Backend::cuda); e.needs == "device" && !why.empty())
    GTEST_SKIP() << "its blocks read each other's memory, which only a GPU does: " << why;
  const Ran ran = check(e);
  EXPECT_EQ(std::to_string(ran.status), e.exit) << ran.text;
  EXPECT_NE(ran.text.find("within: " + e.within + "\n"), std::string::npos) << ran.text;
  if (e.declare.empty()) return;
  EXPECT_NE(ran.text.find(e.declare), std::string::npos) << ran.text;
  EXPECT_NE(ran.text.find("\n  outside: "), std::string::npos) << ran.text;
}

INSTANTIATE_TEST_SUITE_P(Of, AdoptExamples, testing::ValuesIn(examples()),
                         [](const auto& i) { return i.param.path.stem().string(); });

TEST(AdoptExamplesFolder, LimitsThatAreDeclaredOrAcceptedAreNoFinding) {
  const std::vector<Example> all = examples();
  const auto at = std::find_if(all.begin(), all.end(),
                               [](const Example& e) { return e.path.stem() == "registers_by_32"; });
  if (at == all.end()) GTEST_SKIP() << "the sources are not on this machine";
  const Ran declared = check(*at, {"--declare", at->declare});
  EXPECT_EQ(declared.status, kPassed) << declared.text;
  EXPECT_EQ(declared.text.find("adopt with"), std::string::npos) << declared.text;
  EXPECT_EQ(check(*at, {"--accept-limits"}).status, kPassed);
  // The author's declaration is a promise, and this kernel does not keep V_multiple=8.
  const Ran broken = check(*at, {"--declare", "V_multiple=8; max_V=1024"});
  EXPECT_EQ(broken.status, kFailed) << broken.text;
}

}  // namespace
}  // namespace assay

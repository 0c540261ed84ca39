// SPDX-License-Identifier: Apache-2.0
// assay check as it is called: verdict, exit status, files, and what is left of a run if the kernel crashes
// or hangs in the middle.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "kernels/declaration.hpp"
#include "kernels/device.hpp"
#include "kernels/isolation/isolated.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/cli/commands.hpp"
#include "reports/data/compare.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

class CheckCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("assay-check-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) +
               "-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Runs `assay check LINE --out FOLDER --threads 1`. Returns the exit status; the output is in out and err.
  int check(const std::string& line) {
    std::vector<std::string> words = command_test::with_seed(command_test::words_of("check " + line));
    words.insert(words.begin(), "assay");
    words.insert(words.end(), {"--out", folder_.string(), "--threads", "1"});
    return call(words);
  }
  int call(const std::vector<std::string>& words) {
    std::vector<const char*> argv;
    for (const std::string& w : words) argv.push_back(w.c_str());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = run_assay(static_cast<int>(argv.size()), argv.data());
    std::fflush(stdout);
    out = testing::internal::GetCapturedStdout();
    err = testing::internal::GetCapturedStderr();
    return status;
  }
  std::vector<Record> records() const { return read_records(folder_ / "records.jsonl"); }
  static std::string fixture(const std::string& name) {
    return std::string(ASSAY_FIXTURES) + "/fixture_kernels.so#" + name;
  }

  fs::path folder_;
  std::string out, err;
};

TEST_F(CheckCommand, ARightKernelPasses) {
  ASSERT_EQ(check("safe_block/f32@host --quick --only shapes --only layout --only streams --only calls"),
            kPassed)
      << out;
  // The verdict, in the terminal and on the page, says what a quick check left out.
  std::set<std::int64_t> lengths;
  std::int64_t rows = 0;
  for (const Record& r : records())
    if (r.V >= 1 && r.V <= 4096 && r.rows > 0) lengths.insert(r.V), rows = std::max(rows, r.rows);
  ASSERT_TRUE(rows > 1000 && rows < 10000) << rows;
  std::string most = std::to_string(rows);
  most.insert(1, ",");
  const std::string quick = "quick: " + std::to_string(lengths.size()) +
                            " of 4,096 row lengths to 4,096 were tried, and up to " + most + " rows";
  EXPECT_TRUE(out.starts_with("PASS safe_block/f32@host; " + quick + "\n")) << out;
  EXPECT_NE(read_file(folder_ / "index.html").find(quick.substr(7)), std::string::npos);
  // A pass proposes what to do next, as a command that can be run.
  const std::string next =
      "\nnext, search for an input that breaks it: assay fuzz safe_block/f32@host --time 5m\n";
  EXPECT_TRUE(out.ends_with(next)) << out;
  EXPECT_TRUE(fs::exists(folder_ / "summary.md"));
  const auto all = records();
  EXPECT_GT(all.size(), 400u);
  for (const Record& r : all) {
    EXPECT_FALSE(r.group.empty());
    // A worker can make every case except a delayed producer and an in-place launch.
    EXPECT_TRUE(r.status == Status::pass || r.setup == "in_place" || r.setup == "delayed_producer")
        << r.reason << " " << r.reproduce;
  }
}

TEST_F(CheckCommand, APluginOnADeviceIsNotRunWhereNoneIs) {
  const std::string plugin = std::string(ASSAY_FIXTURES) + "/fixture_device.so";
  if (!fs::exists(plugin)) GTEST_SKIP() << "built without CUDA";
  const std::string why = unavailable_reason(Backend::cuda);
  if (why.empty()) GTEST_SKIP() << "a GPU is here";
  EXPECT_EQ(check(plugin + "#right --quick --only shapes --only properties"), kEnvironment) << out;
  EXPECT_NE(out.find("not run: " + why), std::string::npos) << out;
  for (const Record& r : records()) EXPECT_EQ(r.status, Status::not_run) << r.reproduce;
  EXPECT_EQ(call({"assay", "fuzz", plugin + "#right", "--time", "1s", "--out", folder_.string()}),
            kEnvironment)
      << out;
}

TEST_F(CheckCommand, WithoutAGpuAKernelForOneIsNotRunAndHasNotFailed) {
  const std::string plugin = std::string(ASSAY_FIXTURES) + "/fixture_on_device.so";
  const std::string why = unavailable_reason(Backend::cuda);
  if (why.empty()) GTEST_SKIP() << "a GPU is here";
  EXPECT_EQ(check(plugin + " --quick --only shapes --only rows"), kEnvironment) << out;
  EXPECT_TRUE(out.starts_with("NOT RUN c99_softmax/f32@plugin\n")) << out;
  EXPECT_EQ(out.find("FAIL"), std::string::npos) << out;
  EXPECT_NE(out.find("not run: " + why), std::string::npos) << out;
  for (const char* file : {"summary.md", "index.html"}) {
    std::ifstream in(folder_ / file);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    EXPECT_EQ(text.find("FAIL"), std::string::npos) << file;
    EXPECT_NE(text.find("NOT RUN"), std::string::npos) << file;
  }
  // It could not run, even if the other target did.
  EXPECT_EQ(check(plugin + " safe_block/f32@host --quick --only rows"), kEnvironment) << out;
  EXPECT_EQ(check(plugin + " mutant.no_max/f32@host --quick --only shapes"), kFailed) << out;
}

TEST_F(CheckCommand, WhatNobodyPromisedIsRecordedAndNotJudged) {
  const auto of_nothing = [&](auto judge) {
    int n = 0;
    for (const Record& r : records())
      if (r.V == 0 || r.rows == 0) judge(r), ++n;
    EXPECT_GE(n, 3);
  };
  EXPECT_EQ(check(fixture("nothing_of_nothing") + " --quick --only shapes --only rows --V 0"), kEnvironment)
      << "nothing was judged";
  EXPECT_EQ(check(fixture("nothing_of_nothing") + " --quick --only shapes --only rows"), kPassed) << out;
  of_nothing([](const Record& r) {
    EXPECT_EQ(r.status, Status::unsupported) << r.reproduce;
    EXPECT_TRUE(r.reason.starts_with("domain: ")) << r.reason;
    EXPECT_EQ(r.returned, "the launch came back");
  });
  EXPECT_EQ(check(fixture("crash_of_nothing") + " --quick --only shapes --only rows"), kPassed) << out;
  bool told = false;
  of_nothing([&](const Record& r) {
    EXPECT_EQ(r.status, Status::unsupported) << r.reproduce;
    told = told || r.returned.find("segmentation fault") != std::string::npos;
  });
  EXPECT_TRUE(told);
  // If the author declares them, the kernel is judged on them.
  EXPECT_EQ(check(fixture("promised_nothing") + " --quick --only shapes --only rows"), kFailed) << out;
  EXPECT_NE(out.find("was never written"), std::string::npos) << out;
  EXPECT_EQ(check(fixture("nothing_of_nothing") + " --quick --only shapes --declare min_V=0"), kFailed)
      << out;
}

TEST_F(CheckCommand, AFailingCaseNamesItsCauseAndRepeats) {
  ASSERT_EQ(check("mutant.max_from_flt_min/f32@host --quick --only shapes"), kFailed) << out << err;
  EXPECT_TRUE(out.starts_with("FAIL mutant.max_from_flt_min/f32@host\n")) << out;
  EXPECT_NE(out.find("every row whose maximum is 0 or less"), std::string::npos) << out;
  EXPECT_NE(out.find("the running maximum, or the padding, does not start at -inf"), std::string::npos)
      << out;
  const std::size_t at = out.find("assay check mutant");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(out.find("next, search"), std::string::npos) << out;
  const auto all = records();
  std::istringstream in(out.substr(at, out.find('\n', at) - at));
  std::vector<std::string> words;
  for (std::string w; in >> w;) words.push_back(w);
  words.insert(words.end(), {"--out", folder_.string()});
  EXPECT_EQ(call(words), kFailed);
  const auto again = records();
  ASSERT_EQ(again.size(), 1u) << out;
  EXPECT_EQ(again[0].status, Status::fail);
  bool found = false;
  for (const Record& r : all)
    if (r.reproduce == again[0].reproduce) {
      found = true;
      EXPECT_EQ(r.reason, again[0].reason);
      EXPECT_EQ(r.max_ulp, again[0].max_ulp);
    }
  EXPECT_TRUE(found);
}

TEST_F(CheckCommand, ACrashIsARecordAndQuickOnesLoseNoCase) {
  // Few, because even on a busy machine they must not take the three seconds after which some are left out.
  ASSERT_EQ(check(fixture("write_null") + " --quick --only batch"), kFailed);
  std::int64_t crashed = 0, not_run = 0;
  for (const Record& r : records()) {
    crashed += r.status == Status::crashed;
    not_run += r.status == Status::not_run;
    if (r.status == Status::crashed) {
      EXPECT_NE(r.reason.find("segmentation fault"), std::string::npos) << r.reason;
    }
  }
  EXPECT_GE(crashed, 10);
  EXPECT_EQ(not_run, 0);
}

TEST_F(CheckCommand, AHangIsOneToo) {
  ASSERT_EQ(check(fixture("hang") + " --quick --only batch --timeout 0.3"), kFailed);
  // They run one after another, each in its own worker.
  const auto all = records();
  EXPECT_GT(all.size(), 3u);
  for (const Record& r : all) EXPECT_EQ(r.status, Status::hung) << r.reproduce;
}

TEST_F(CheckCommand, BadCallsAreOneLine) {
  for (const char* line :
       {"no_such_key/f32@host", "safe_block/f32@host --only shades",
        "safe_block/f32@host --only layout --setup offset_5", "safe_block/f32@host --quick --full",
        "safe_block/f32@host --op sotfmax", "/no/such.so", "safe_block/f32@host --declare exq=fast"}) {
    EXPECT_EQ(check(line), kBadCall) << line;
    EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << line << ": " << err;
    EXPECT_FALSE(fs::exists(folder_ / "records.jsonl")) << line;
  }
}

TEST_F(CheckCommand, HelpListsTheWordsOfADeclaration) {
  EXPECT_EQ(check("--help"), kPassed);
  std::istringstream all(declaration_words());
  int words = 0;
  for (std::string line; std::getline(all, line); ++words)
    EXPECT_NE(out.find(line + "\n"), std::string::npos) << line;
  EXPECT_GT(words, 20);
}

TEST_F(CheckCommand, TheReproduceLineOfAFileRunsTheSameCase) {
  const std::string file = std::string(ASSAY_SOURCE_DIR) + "/kernels/adapter/fixtures/shuffle_rows.cu";
  const std::string build =
      (fs::temp_directory_path() / ("assay-one-file-" + std::to_string(getuid()))).string();
  const std::vector<std::string> words = {"assay",
                                          "check",
                                          file,
                                          "--host",
                                          "--entry",
                                          "void softmax_rows(float* out, const float* inp, int N, int C)",
                                          "--op",
                                          "log_softmax",
                                          "--build-dir",
                                          build,
                                          "--quick",
                                          "--only",
                                          "shapes",
                                          "--V",
                                          "7",
                                          "--rows",
                                          "2",
                                          "--timeout",
                                          "19",
                                          "--out",
                                          folder_.string(),
                                          "--threads",
                                          "1"};
  // Probabilities are not log-probabilities.
  ASSERT_EQ(call(words), kFailed) << err;
  ASSERT_FALSE(records().empty());
  const std::string line = records()[0].reproduce;
  EXPECT_NE(line.find(" --op log_softmax "), std::string::npos) << line;
  EXPECT_NE(line.find(" --timeout 19 "), std::string::npos) << line;
  std::vector<std::string> again;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ' ') continue;
    const bool quoted = line[i] == '\'';
    const std::size_t end = std::min(line.find(quoted ? '\'' : ' ', i + 1), line.size());
    again.push_back(line.substr(i + quoted, end - i - quoted));
    i = end;
  }
  again.insert(again.end(), {"--timeout", "60", "--out", folder_.string()});
  EXPECT_EQ(call(again), kFailed) << line << "\n" << err;
  EXPECT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].status, Status::fail) << records()[0].reason;
}

TEST_F(CheckCommand, SaysNothingTwiceAndNothingForOthers) {
  const char* const asked = std::getenv("RC_PARAMS");
  const std::string before = asked ? asked : "";
  unsetenv("RC_PARAMS");
  EXPECT_EQ(check("safe_block/f32@host --quick --only properties --seed 3"), kPassed) << out;
  EXPECT_EQ((out + err).find("Using configuration"), std::string::npos) << err;
  EXPECT_STREQ(std::getenv("RC_PARAMS"), "seed=3");
  unsetenv("RC_PARAMS");
  if (asked) setenv("RC_PARAMS", before.c_str(), 1);

  EXPECT_EQ(check("mutant.no_max/f32@host --quick --only shapes"), kFailed);
  EXPECT_NE(out.find("got nan"), std::string::npos) << out;
  EXPECT_EQ(out.find("-nan"), std::string::npos) << out;
  for (const Record& r : records()) EXPECT_EQ(to_json(r).dump().find("-nan"), std::string::npos) << r.reason;

  EXPECT_EQ(check("safe_block/f32@host --quick --only families --family all_neg_inf --declare "
                  "all_neg_inf=zero"),
            kFailed);
  EXPECT_NE(out.find("   the nearest class for this case: would pass with "), std::string::npos) << out;
}

TEST_F(CheckCommand, WhatTheMachineLacksForTheOnlyGroupIsSaidInOneLine) {
  if (!fs::exists(std::string(ASSAY_FIXTURES) + "/fixture_kernels.so")) GTEST_SKIP();
  const std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  setenv("PATH", "/nowhere", 1);
  EXPECT_EQ(check(fixture("die_some_times") + " --only sanitize"), kEnvironment);
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(err, "assay: --only sanitize: compute-sanitizer is not in PATH\n");
  EXPECT_EQ(out.find("FAIL"), std::string::npos) << out;
}

TEST_F(CheckCommand, ASandboxAndASanitizerExcludeEachOther) {
  if (!why_not_sandboxed().empty()) GTEST_SKIP() << why_not_sandboxed();
  for (const char* const how : {"--sanitize", "--only sanitize"}) {
    EXPECT_EQ(check(std::string("safe_block/f32@host --sandbox ") + how), kBadCall) << out;
    EXPECT_EQ(err,
              "assay: --sandbox and --sanitize: compute-sanitizer runs a kernel outside of any sandbox: give "
              "only one of them\n");
  }
}

TEST(Sandbox, GroupsThatRanOutsideAreNamed) {
  std::vector<std::pair<std::string, std::string>> one = {{"host", "x"}, {"sandbox", "bubblewrap"}};
  say_not_sandboxed(one, {});
  EXPECT_EQ(not_sandboxed(one), "");
  say_not_sandboxed(one, {"races"});
  EXPECT_EQ(not_sandboxed(one), "the group races: the tool runs a kernel outside of any sandbox");
  EXPECT_EQ(one[0].second, "x");
  std::vector<std::pair<std::string, std::string>> none = {{"sandbox", "none: --no-sandbox"}};
  say_not_sandboxed(none, {"races", "sanitize"});
  EXPECT_EQ(not_sandboxed(none), "--no-sandbox");
}

TEST_F(CheckCommand, WhatWasOnlyLaunchedIsNotJudged) {
  EXPECT_EQ(check("safe_block/f32@host --quick --only launches"), kEnvironment) << out;
  EXPECT_TRUE(
      out.starts_with("NOT JUDGED safe_block/f32@host\n  launches came back, and no output was judged\n"))
      << out;
  // Where there is no sandbox, a line says so first.
  EXPECT_NE(out.find("\n9 cases: 9 passed, 0 failed,"), std::string::npos) << out;
  EXPECT_EQ(out.find("PASS"), std::string::npos) << out;
  EXPECT_EQ(check("safe_block/f32@host --quick --only launches --only shapes --V 33"), kPassed) << out;
  EXPECT_EQ(check(fixture("abort") + " --quick --only launches --V 33"), kFailed) << out;
}

TEST_F(CheckCommand, WhatIsTooCoarseToJudgeIsNoPass) {
  EXPECT_EQ(check("three_kernel_safe_thread/f16@host --quick --only shapes"), kEnvironment) << out;
  EXPECT_TRUE(out.starts_with("NOT JUDGED three_kernel_safe_thread/f16@host\n")) << out;
  EXPECT_NE(out.find(", 3 outside the domain or not expressible, 914 too coarse to judge\n"),
            std::string::npos)
      << out;
  EXPECT_EQ(check("safe_block_half/f16@host --quick --only layout"), kUndeclaredLimits) << out;
  EXPECT_TRUE(out.starts_with("JUDGED IN PART safe_block_half/f16@host")) << out;
  EXPECT_EQ(check("safe_block_half/f16@host --quick --only layout --accept-limits"), kPassed) << out;
}

TEST_F(CheckCommand, WhereNothingRanNothingPassed) {
  EXPECT_EQ(check("safe_block/f32@host --only sanitize"), kEnvironment) << out;
  EXPECT_NE(out.find("NOT JUDGED"), std::string::npos) << out;
  EXPECT_EQ(out.find("PASS"), std::string::npos) << out;
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// A compiler is ended by limits of time and of what it writes, sees a list of variables only, and writes in
// one folder.
#include "kernels/adapter/toolchain/compiler_run.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "kernels/isolation/process/sandbox.hpp"
#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

class CompilerRuns : public ::testing::Test {
 protected:
  int run(const std::string& script) {
    return run_compiler(
        {.words = {"/bin/sh", "-c", script}, .writable = own_.path(), .log = own_.path() / "log"});
  }
  std::string log() const { return start_of_log(own_.path() / "log"); }
  TestFolder own_;
};

TEST_F(CompilerRuns, ItsStatusAndItsWordsComeBack) {
  EXPECT_EQ(run("echo words; echo errors >&2; exit 3"), 3);
  EXPECT_EQ(log(), "words\nerrors\n");
  EXPECT_EQ(over_a_limit(log(), 3), "");
  EXPECT_EQ(run("echo made > " + (own_.path() / "made").string()), 0);
  EXPECT_TRUE(fs::exists(own_.path() / "made"));
}

TEST_F(CompilerRuns, ItIsEndedAfterItsTimeWithAllThatItStarted) {
  setenv("ASSAY_COMPILER_TIMEOUT", "1", 1);
  const auto begin = std::chrono::steady_clock::now();
  std::string said;
  try {
    run("sleep 60 & echo $! ; sleep 60");
  } catch (const InputError& e) {
    said = e.what();
  }
  EXPECT_EQ(said, "the compiler was ended after 1 s (ASSAY_COMPILER_TIMEOUT)");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  for (const char* bad : {"", "0", "x", "-1", "1s"}) {
    setenv("ASSAY_COMPILER_TIMEOUT", bad, 1);
    EXPECT_THROW(run("true"), InputError) << bad;
  }
  unsetenv("ASSAY_COMPILER_TIMEOUT");
}

TEST_F(CompilerRuns, AFileGrowsToOneGibibyteOnly) {
  const fs::path file = own_.path() / "large";
  const int status = run("dd if=/dev/zero of=" + file.string() + " bs=1 count=1 seek=1073741824 2>&1");
  EXPECT_NE(status, 0);
  EXPECT_NE(over_a_limit(log(), status), "") << status << " " << log();
}

TEST_F(CompilerRuns, ItSeesAListOfVariablesOnly) {
  setenv("ASSAY_TEST_SECRET", "token", 1);
  setenv("CPATH", "/nowhere/include", 1);
  ASSERT_EQ(run("env"), 0);
  EXPECT_EQ(log().find("token"), std::string::npos) << log();
  EXPECT_NE(log().find("CPATH=/nowhere/include"), std::string::npos) << log();
  EXPECT_NE(log().find("LC_ALL=C\n"), std::string::npos) << log();
  EXPECT_NE(log().find("SOURCE_DATE_EPOCH=0\n"), std::string::npos) << log();
  EXPECT_NE(log().find("TMPDIR=" + own_.path().string()), std::string::npos) << log();
  const std::vector<std::string> inputs = compiler_inputs();
  EXPECT_EQ(std::count(inputs.begin(), inputs.end(), "CPATH=/nowhere/include"), 1);
  unsetenv("CPATH");
  unsetenv("ASSAY_TEST_SECRET");
}

/// With either guard. What it has made it may make executable.
TEST_F(CompilerRuns, InTheSandboxItWritesInOneFolder) {
  for (const bool hidden : {false, true}) {
    isolation::missing().bubblewrap = hidden;
    if (isolation::guard_of(isolation::Reach::host) == Guard::none) {
      std::printf("not tried: %s\n", isolation::guard_words(isolation::Reach::host).c_str());
      continue;
    }
    const TestFolder other;
    EXPECT_NE(run("echo x > " + (other.path() / "x").string()), 0);
    EXPECT_FALSE(fs::exists(other.path() / "x"));
    EXPECT_EQ(run("echo x > \"$TMPDIR/x\" && chmod 755 \"$TMPDIR/x\""), 0) << log();
    EXPECT_EQ(access((own_.path() / "x").c_str(), X_OK), 0) << log();
    EXPECT_EQ(run("env"), 0);
    EXPECT_NE(log().find("TMPDIR=" + own_.path().string()), std::string::npos) << log();
  }
  isolation::missing().bubblewrap = false;
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// What holds a kernel, as the commands say it: in the exit status, the records, the pages and the
// certificate.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "kernels/isolation/isolated.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "reports/cli/adopt/adopt_test.hpp"
#include "reports/data/compare.hpp"
#include "reports/data/environment.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using command_test::Outcome;

const std::string kFixture = std::string(ASSAY_FIXTURES) + "/fixture_right.so";

#define ASSAY_NEEDS_FIXTURES() \
  if (!fs::exists(kFixture)) GTEST_SKIP() << "the fixtures are not on this machine"

/// A machine that lacks bubblewrap, and perhaps Landlock too.
class Guards : public command_test::AdoptTest {
 protected:
  void SetUp() override { isolation::missing().bubblewrap = true; }
  void TearDown() override {
    isolation::missing().bubblewrap = false;
    isolation::missing().landlock_after = 1 << 20;
    want_sandbox(true);
  }
  Outcome check(const std::string& target) const {
    return command_test::call("assay check " + target + " --quick --only shapes --V 33 --threads 1 --out " +
                              at("check"));
  }
  std::vector<Record> records() const { return read_records(at("check/records.jsonl")); }
};

TEST_F(Guards, WithoutBubblewrapLandlockHolds) {
  ASSAY_NEEDS_FIXTURES();
  if (isolation::guard_of(isolation::Reach::host) != Guard::landlock)
    GTEST_SKIP() << isolation::guard_words(isolation::Reach::host);
  const Outcome o = check(kFixture);
  EXPECT_EQ(o.status, kPassed) << o.out << o.err;
  EXPECT_EQ(o.out.find("not sandboxed"), o.out.npos) << o.out;
  for (const Record& r : records()) EXPECT_EQ(r.where, Where::landlock) << r.group;
  const std::string summary = read_file(at("check/summary.md"));
  EXPECT_NE(summary.find("| sandbox | Landlock and seccomp (bwrap: it is not installed"), summary.npos)
      << summary;
  // Either guard is what --sandbox asks for.
  EXPECT_EQ(check(kFixture + " --sandbox").status, kPassed);
}

TEST_F(Guards, TheCertificateAndItsBadgeNameTheGuard) {
  if (plugin().empty()) GTEST_SKIP() << "the fixtures are not on this machine";
  if (isolation::guard_of(isolation::Reach::host) != Guard::landlock)
    GTEST_SKIP() << isolation::guard_words(isolation::Reach::host);
  const Outcome o = adopt(plugin() + " --only shapes");
  EXPECT_EQ(json()["kernels"][0]["where"], "landlock") << o.out << o.err;
  EXPECT_NE(read_file(at("out/badge.svg")).find("Landlock"), std::string::npos) << o.out;
}

TEST_F(Guards, WhereNothingHoldsItAKernelDoesNotRun) {
  ASSAY_NEEDS_FIXTURES();
  isolation::missing().landlock_after = 0;
  for (const std::string& how : {"check " + kFixture, "adopt " + kFixture, "fuzz " + kFixture}) {
    const Outcome o = command_test::call("assay " + how + " --out " + at("none"));
    EXPECT_EQ(o.status, kEnvironment) << how << "\n" << o.out << o.err;
    EXPECT_TRUE(o.err.starts_with("assay: no sandbox works here: bwrap: it is not installed (Debian: apt-get "
                                  "install bubblewrap); Landlock: ") &&
                o.err.ends_with("; --no-sandbox runs the kernel with all your rights\n"))
        << how << "\n"
        << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  }
  // Somebody who asks for it gets it, and the records and the verdict say so.
  const Outcome asked = check(kFixture + " --no-sandbox");
  EXPECT_EQ(asked.status, kPassed) << asked.out << asked.err;
  EXPECT_NE(asked.out.find("\n  not sandboxed: --no-sandbox\n"), asked.out.npos) << asked.out;
  for (const Record& r : records()) EXPECT_EQ(r.where, Where::not_sandboxed) << r.group;
}

TEST_F(Guards, TheProjectsOwnKernelsNeedNone) {
  isolation::missing().landlock_after = 0;
  const Outcome o = check("safe_block/f32@host");
  EXPECT_EQ(o.status, kPassed) << o.out << o.err;
  EXPECT_NE(o.out.find("\n  not sandboxed: bwrap: it is not installed"), o.out.npos) << o.out;
}

TEST(GuardWords, NameWhatHeld) {
  EXPECT_EQ(guard_words("sandbox"), "bubblewrap");
  EXPECT_EQ(guard_words("landlock"), "Landlock");
  EXPECT_EQ(guard_words("not_sandboxed"), "not sandboxed");
  EXPECT_EQ(guard_words("in_process"), "");
}

}  // namespace
}  // namespace assay

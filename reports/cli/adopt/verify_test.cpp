// SPDX-License-Identifier: Apache-2.0
// Of which kernels assay verify takes a certificate, and where it finds the kernel's file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "kernels/adapter/toolchain/toolchain.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "reports/adopt/signature.hpp"
#include "reports/cli/adopt/adopt_test.hpp"
#include "reports/data/environment.hpp"
#include "reports/records/compare.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using command_test::Outcome;
using Verify = command_test::AdoptTest;

/// What a certificate must hold depends on the outputs: only those that add up to 1 have a sum to check.
TEST_F(Verify, TakesAGenuineCertificateOfEveryKindOfOutput) {
  for (const char* line :
       {"lse_block/bf16@host --only shapes --only families", "log_softmax_absorb/bf16@host --only shapes",
        "onepass_topk_log/bf16@host --only shapes", "onepass_topk/bf16@host --only shapes",
        "safe_block/f32@host --op normalizer --only shapes",
        "safe_block/f32@host --only=shapes --quick=true"}) {
    ASSERT_EQ(adopt(line).status, kPassed) << line;
    const Outcome o = verify();
    EXPECT_EQ(o.status, kPassed) << line << "\n" << o.out << o.err;
  }
}

/// Runs a test in another folder.
class InFolder {
 public:
  explicit InFolder(const fs::path& folder) : before_(fs::current_path()) { fs::current_path(folder); }
  ~InFolder() { fs::current_path(before_); }

 private:
  fs::path before_;
};

TEST_F(Verify, FindsTheSourceAboveTheCertificate) {
  const fs::path project = at("project"), elsewhere = at("elsewhere");
  fs::create_directories(project);
  fs::create_directories(elsewhere);
  const fs::path source = project / "mine.cu";
  fs::copy_file(std::string(ASSAY_SOURCE_DIR) + "/kernels/adapter/examples/rows_of_a_warp.cu", source);
  const std::vector<std::string> make = {"adopt",  "mine.cu", "--entry",       "softmax_four_per_warp",
                                         "--host", "--only",  "repeat",        "--quick",
                                         "--out",  "out/a",   "--evaluations", "64"};
  {
    const InFolder here(project);
    const Outcome o = command_test::call_words(make);
    ASSERT_EQ(o.status, kPassed) << o.out << o.err;
  }
  const InFolder here(elsewhere);
  const auto verify_it = [&](const fs::path& what) {
    return command_test::call_words({"verify", what.string(), "--cases", "3", "--out", at("verify")});
  };
  const Outcome found = verify_it(project / "out/a/certificate.json");
  EXPECT_EQ(found.status, kPassed) << found.out << found.err;
  EXPECT_NE(found.out.find("figures equal bit for bit"), found.out.npos) << found.out;
  EXPECT_EQ(verify_it(project / "out/a").status, kPassed) << "a folder holds certificate.json";
  // Another file of that name in this folder is not what was certified.
  std::ofstream(elsewhere / "mine.cu") << "int other;\n";
  EXPECT_EQ(verify_it(project / "out/a").status, kPassed);
  fs::remove(elsewhere / "mine.cu");

  // A checkout that was moved: the same binary is made from it.
  fs::copy(project, at("moved"), fs::copy_options::recursive);
  const Outcome moved = verify_it(at("moved/out/a"));
  EXPECT_EQ(moved.status, kPassed) << moved.out << moved.err;
  EXPECT_NE(moved.out.find("figures equal bit for bit"), moved.out.npos) << moved.out;

  std::ofstream(source, std::ios::app) << "// changed\n";
  const Outcome changed = verify_it(project / "out/a");
  EXPECT_EQ(changed.status, kFailed);
  EXPECT_NE(changed.out.find("; adopt it again: assay adopt mine.cu --entry softmax_four_per_warp --host"),
            changed.out.npos)
      << changed.out;
  fs::remove(source);
  const Outcome gone = verify_it(project / "out/a");
  EXPECT_EQ(gone.status, kBadCall) << gone.out;
  EXPECT_EQ(std::count(gone.err.begin(), gone.err.end(), '\n'), 1) << gone.err;
  EXPECT_NE(gone.err.find("mine.cu: no such file, neither here nor in " + (project / "out/a").string() +
                          " or a folder above it"),
            gone.err.npos)
      << gone.err;
}

// What holds a kernel, as the commands say it: in the exit status, the records, the pages and the
// certificate.

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

// The signature of a certificate: it is made and checked by ssh-keygen, with keys that are made here.

using command_test::Outcome;

class Signed : public command_test::AdoptTest {
 protected:
  void SetUp() override {
    if (program_in_path("ssh-keygen").empty()) GTEST_SKIP() << "ssh-keygen is not installed";
    for (const char* name : {"author", "other"}) {
      ASSERT_EQ(run_program({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at(name)}, at("log")), 0)
          << read_file(at("log"));
      std::ofstream(at(std::string("by_") + name))
          << name << "@example.org namespaces=\"assay@certificate\" " << read_file(at(name) + ".pub");
    }
  }
  void expect(const Outcome& o, int status, const std::string& words) const {
    EXPECT_EQ(o.status, status) << words << "\n" << o.out << o.err;
    EXPECT_NE((o.out + o.err).find(words), std::string::npos) << words << "\n" << o.out << o.err;
  }
};

TEST_F(Signed, ByItsAuthorIsSaid) {
  expect(adopt("safe_block/f32@host --only batch --sign " + at("author")), kPassed,
         "\n  signed with " + at("author") + "\n");
  expect(verify("--cases 1"), kPassed, "; signed, not checked: give --signers");
  expect(verify("--cases 1 --signers " + at("by_author")), kPassed, "; signed by author@example.org");
  expect(verify("--cases 1 --signer author@example.org --signers " + at("by_author")), kPassed,
         "; signed by author@example.org");
  expect(verify("--cases 1 --signer other@example.org --signers " + at("by_author")), kFailed,
         "certificate.json.sig: it is no signature of other@example.org: ");
  expect(verify("--cases 1 --signers " + at("by_other")), kFailed,
         "certificate.json.sig: it is of no signer of ");
  expect(verify("--cases 1 --signers " + at("nowhere")), kBadCall,
         "--signers " + at("nowhere") + ": no such file");
  expect(verify("--cases 1 --signer author@example.org"), kBadCall, "--signers");
  // What was read is checked, not what lies there now; and no link in a folder is written through.
  const std::string text = read_file(certificate());
  EXPECT_TRUE(signature_of(certificate(), text, at("by_author"), "").good);
  EXPECT_FALSE(signature_of(certificate(), text + " ", at("by_author"), "").good);
  std::ofstream(at("theirs")) << "theirs";
  for (const char* const name : {"out/ssh-keygen.log", "out/certificate.json.log", "verify/ssh-keygen.log"}) {
    std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
    std::filesystem::create_symlink(at("theirs"), at(name));
  }
  expect(verify("--cases 1 --signers " + at("by_author")), kPassed, "; signed by author@example.org");
  sign(certificate(), text, at("author"));
  EXPECT_EQ(read_file(at("theirs")), "theirs");
  // Another certificate, with a right hash of its own, is not what was signed.
  const std::string other = read_file(forged([](nlohmann::json& j) { j["made"] = "2026"; }));
  std::ofstream(certificate()) << other;
  expect(verify("--cases 1 --signers " + at("by_author")), kFailed,
         "it is no signature of author@example.org: ");
}

TEST_F(Signed, WithoutASignatureItIsUnsigned) {
  expect(adopt("safe_block/f32@host --only batch"), kPassed, "\n  unsigned\n");
  expect(verify("--cases 1"), kPassed, "; unsigned");
  expect(verify("--cases 1 --signers " + at("by_author")), kFailed, "FAIL " + certificate() + ": unsigned");
}

TEST_F(Signed, ABadKeyIsABadCallBeforeAnythingRuns) {
  std::ofstream(at("no_key")) << "none\n";
  for (const std::string& key : {at("no_key"), at("nowhere")}) {
    const Outcome o = adopt("safe_block/f32@host --only batch --sign " + key);
    expect(o, kBadCall, "--sign " + key + ": ");
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_FALSE(std::filesystem::exists(certificate()));
  }
}

}  // namespace
}  // namespace assay

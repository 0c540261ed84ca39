// SPDX-License-Identifier: Apache-2.0
// Of which kernels assay verify takes a certificate, and where it finds the kernel's file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "reports/cli/adopt/adopt_test.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using command_test::Outcome;
using Verify = command_test::AdoptTest;

/// What a certificate must hold depends on the outputs: only those that add up to 1 have a sum to check.
TEST_F(Verify, TakesAGenuineCertificateOfEveryKindOfOutput) {
  for (const char* line :
       {"lse_block/bf16@host --only shapes --only families", "log_softmax_absorb/bf16@host --only shapes",
        "onepass_topk_log/bf16@host --only shapes", "onepass_topk/bf16@host --only shapes --only families",
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
                                         "--host", "--only",  "batch",         "--quick",
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

}  // namespace
}  // namespace assay

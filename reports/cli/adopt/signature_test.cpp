// SPDX-License-Identifier: Apache-2.0
// The signature of a certificate: it is made and checked by ssh-keygen, with keys that are made here.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "kernels/adapter/toolchain/toolchain.hpp"
#include "reports/cli/adopt/adopt_test.hpp"

namespace assay {
namespace {

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

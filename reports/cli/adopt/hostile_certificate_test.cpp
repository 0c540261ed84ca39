// SPDX-License-Identifier: Apache-2.0
// A certificate from somebody who wants this machine to run something, or its reader to read something, that
// nobody asked for. assay verify takes its words for data.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "reports/cli/adopt/adopt_test.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using command_test::Outcome;
using Json = nlohmann::json;

class HostileCertificate : public command_test::AdoptTest {
 protected:
  /// A certificate of a file that is compiled for the CPU.
  void certify() {
    const fs::path from = std::string(ASSAY_SOURCE_DIR) + "/kernels/adapter/examples/rows_of_a_warp.cu";
    fs::copy_file(from, at("mine.cu"), fs::copy_options::overwrite_existing);
    const Outcome o = adopt(at("mine.cu") + " --entry softmax_four_per_warp --host --only batch");
    ASSERT_EQ(o.status, kPassed) << o.out << o.err;
  }
  /// A program that leaves a mark when it runs.
  std::string program() const {
    std::ofstream(at("program")) << "#!/bin/sh\ntouch " << at("ran") << "\nexit 1\n";
    fs::permissions(at("program"), fs::perms::owner_all);
    return at("program");
  }
  bool ran() const { return fs::exists(at("ran")); }
  /// One line on standard error, exit status 2, and nothing ran.
  void expect_refused(const std::function<void(Json&)>& change, const std::string& words,
                      const std::string& more = "") const {
    const Outcome o = verify("--cases 1 " + more, forged(change));
    EXPECT_EQ(o.status, kBadCall) << words << "\n" << o.out << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_NE(o.err.find(words), o.err.npos) << words << "\n" << o.err;
    EXPECT_FALSE(ran()) << words;
  }
};

TEST_F(HostileCertificate, ItsFlagsRunNoProgram) {
  certify();
  const std::string compiler = program();
  const auto names = [&](Json& j) {
    j["target"]["host"] = false;
    j["target"]["nvcc_flags"] = "-ccbin " + compiler;
  };
  expect_refused(names, "its compiler flags: ");
  expect_refused(names, "--nvcc-flags '-ccbin " + compiler + "'");
  for (const char* flags :
       {"-include /etc/passwd", "-I/etc", "-I../..", "-o /tmp/x", "@file", "-Xcompiler=-B."})
    expect_refused([&](Json& j) { j["target"]["nvcc_flags"] = flags; }, "its compiler flags: ");
  // Its own hash is of other contents: it does not get so far.
  Json j = json();
  names(j);
  std::ofstream(at("forged.json")) << j.dump(1);
  const Outcome o = verify("", at("forged.json"));
  EXPECT_EQ(o.status, kFailed) << o.out << o.err;
  EXPECT_NE(o.out.find("it was changed after it was written"), o.out.npos) << o.out;
  EXPECT_FALSE(ran());
}

/// What the verifier types himself is his, and he is told that the certificate says something else.
TEST_F(HostileCertificate, TypedFlagsTakeThePlaceOfItsOwn) {
  certify();
  std::vector<std::string> words = {
      "verify",       forged([](Json& j) { j["target"]["nvcc_flags"] = "-ccbin ./no"; }),
      "--out",        at("verify"),
      "--cases",      "1",
      "--nvcc-flags", "-DX=1"};
  const Outcome o = command_test::call_words(words);
  EXPECT_NE((o.out + o.err).find("--nvcc-flags is -DX=1, and in the certificate '-ccbin ./no'"),
            std::string::npos)
      << o.out << o.err;
  EXPECT_EQ(verify("--cases 1", forged([](Json& j) { j["target"]["nvcc_flags"] = ""; })).status, kPassed);
}

/// Nothing is compiled or loaded of what contradicts itself: the file is not even looked at.
TEST_F(HostileCertificate, NothingRunsAfterAContradiction) {
  certify();
  fs::remove(at("mine.cu"));
  const Outcome o = verify("", forged([](Json& j) { j["kernels"][0]["max_ulp"] = 0.25; }, "out/forged.json"));
  EXPECT_EQ(o.status, kFailed) << o.out << o.err;
  EXPECT_NE(o.out.find("/kernels/0/max_ulp: the certificate says 0.25, and its data say "), o.out.npos)
      << o.out;
  EXPECT_EQ(o.out.find("mine.cu: no such file"), o.out.npos) << o.out << o.err;
}

TEST_F(HostileCertificate, ItsOtherWordsReachNoCommand) {
  certify();
  const std::string interpreter = program();
  expect_refused([&](Json& j) { j["target"]["python"] = interpreter; },
                 "it names an interpreter, " + interpreter);
  for (const double seconds : {-1.0, 0.0, 1e9})
    expect_refused([&](Json& j) { j["target"]["timeout"] = seconds; }, "its timeout is ");
  expect_refused([](Json& j) { j["target"]["name"] = "../../x"; }, "a name has letters, digits, _ and -");
  expect_refused(
      [](Json& j) {
        j["target"]["word"] = "os:system";
        j["files"] = Json::array();
      },
      "it names a module of Python, os:system, of which no file can be compared");
  // A file without a hash in the certificate is none that was certified.
  std::ofstream(at("other.cu")) << "int other;\n";
  for (const bool whole : {false, true}) {
    const Outcome o = verify("", forged([&](Json& j) {
                               j["target"]["word"] = at("other.cu");
                               if (whole) j["files"] = Json::array();
                             }));
    EXPECT_EQ(o.status, kFailed) << o.out << o.err;
    EXPECT_NE(o.out.find("other.cu: "), o.out.npos) << o.out;
  }
}

/// A case is one that an adoption writes: none of a group that starts programs, and none that fills the
/// memory.
TEST_F(HostileCertificate, ItsCasesAreSmall) {
  ASSERT_EQ(adopt("safe_block/f32@host --only batch --only shapes").status, kPassed);
  fs::remove_all(at("out/check"));
  for (const auto& [member, value] :
       {std::pair<const char*, Json>("rows", 4000000000), {"V", 70000000000000}}) {
    const Outcome o = verify("--cases 1", forged([&](Json& j) {
                               for (auto& one : j["cases"]) one[member] = value;
                             }));
    EXPECT_EQ(o.status, kFailed) << o.out << o.err;
    EXPECT_NE(o.out.find("no certificate has such a case"), o.out.npos) << o.out;
  }
}

/// The screen shows what the program says, and not what the file paints.
TEST_F(HostileCertificate, NoEscapeSequenceReachesATerminal) {
  ASSERT_EQ(adopt("safe_block/f32@host --only batch").status, kPassed);
  const std::string paint = "\x1b[2J\x1b[H\x1b[1;32mPASS\x1b[0m all as certified\x1b[8m\r\x07";
  const std::function<void(Json&)> all[] = {
      [&](Json& j) { j["command"] = "assay adopt x --full " + paint; },
      [&](Json& j) { j["reason"] = paint; },
      [&](Json& j) { j["verdict"] = paint; },
      [&](Json& j) { j["extent"] = paint; },
      [&](Json& j) { j["target"]["word"] = paint; },
      [&](Json& j) { j["target"]["python"] = paint; },
      [&](Json& j) { j["kernels"][0]["key"] = paint; },
      [&](Json& j) { j["cases"][0]["reproduce"] = paint; },
      [&](Json& j) { j["cases"][0]["family"] = paint; },
      [&](Json& j) { j["data"][0]["path"] = paint; },
      [&](Json& j) { j["steps"][0]["name"] = paint; },
      [&](Json& j) { j["files"][1]["path"] = paint; },
      [&](Json& j) { j["files"][1]["sha256"] = paint; },
      [&](Json& j) { j["not_proved"] = {paint}; },
      [&](Json& j) { j[paint] = 1; },
  };
  for (std::size_t i = 0; i < std::size(all); ++i)
    for (const char* more : {"", "--json"}) {
      const Outcome o = verify(std::string("--cases 1 ") + more, forged(all[i]));
      EXPECT_EQ((o.out + o.err).find_first_of("\x1b\r\x07"), std::string::npos) << i << "\n"
                                                                                << o.out << o.err;
    }
}

}  // namespace
}  // namespace assay

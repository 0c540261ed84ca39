// SPDX-License-Identifier: Apache-2.0
// A certificate from somebody who wants this machine to run something, or its reader to read something, that
// nobody asked for. assay verify takes its words for data.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "accuracy/conformance/inputs.hpp"
#include "kernels/python/python_test.hpp"
#include "reference/hash/sha256.hpp"
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
    const Outcome o = adopt(at("mine.cu") + " --entry softmax_four_per_warp --host --only repeat");
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

/// One adoption, which takes two compilations, for all that follows.
TEST_F(HostileCertificate, NothingOfItRunsOrIsCompiled) {
  certify();
  const std::string made = program();
  {
    SCOPED_TRACE("its flags run no program");
    const auto names = [&](Json& j) {
      j["target"]["host"] = false;
      j["target"]["nvcc_flags"] = "-ccbin " + made;
    };
    expect_refused(names, "its compiler flags: ");
    expect_refused(names, "--nvcc-flags '-ccbin " + made + "'");
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
  {
    SCOPED_TRACE("its other words reach no command");
    expect_refused([&](Json& j) { j["target"]["python"] = made; }, "it names an interpreter, " + made);
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
  {
    SCOPED_TRACE("typed flags are the verifier's, and he is told that the certificate says something else");
    const std::string other = forged([](Json& j) { j["target"]["nvcc_flags"] = "-ccbin ./no"; });
    const Outcome o = command_test::call_words(
        {"verify", other, "--out", at("verify"), "--cases", "1", "--nvcc-flags", "-DX=1"});
    EXPECT_NE((o.out + o.err).find("--nvcc-flags is -DX=1, and in the certificate '-ccbin ./no'"),
              std::string::npos)
        << o.out << o.err;
    EXPECT_EQ(verify("--cases 1", forged([](Json& j) { j["target"]["nvcc_flags"] = ""; })).status, kPassed);
  }
  {
    SCOPED_TRACE("after a contradiction the file is not even looked at");
    fs::remove(at("mine.cu"));
    const Outcome o =
        verify("", forged([](Json& j) { j["kernels"][0]["max_ulp"] = 0.25; }, "out/forged.json"));
    EXPECT_EQ(o.status, kFailed) << o.out << o.err;
    EXPECT_NE(o.out.find("/kernels/0/max_ulp: the certificate says 0.25, and its data say "), o.out.npos)
        << o.out;
    EXPECT_EQ(o.out.find("mine.cu: no such file"), o.out.npos) << o.out << o.err;
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
  ASSERT_EQ(adopt("safe_block/f32@host --only repeat").status, kPassed);
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

namespace assay::command_test {

// A helper module that is changed after the certificate was made.

namespace {

using Loaded = AdoptTest;

constexpr const char* kHelper = R"(import ctypes
import math

def softmax_of(x, out, factor):
    for row in range(x.shape[0]):
        line = lambda t: (ctypes.c_float * x.shape[1]).from_address(t.data + row * t.strides[0] * 4)
        logits, values = list(line(x)), line(out)
        largest = max(logits)
        terms = [math.exp(v - largest) if v > -math.inf else 0.0 for v in logits]
        total = math.fsum(terms)
        for i, term in enumerate(terms):
            values[i] = factor * term / total
)";

TEST_F(Loaded, AHelperModuleIsInTheCertificateAndIsCompared) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const std::string target = at("target.py"), helper = at("helper_of_it.py");
  std::ofstream(helper) << kHelper;
  std::ofstream(target) << "import helper_of_it\nASSAY_TENSORS = 'dlpack'\n\n\n"
                           "def softmax(x, out):\n    helper_of_it.softmax_of(x, out, 1)\n";
  const std::string word = target + ":softmax --only calls --python " + test_python();
  const Outcome o = adopt(word);
  ASSERT_TRUE(std::filesystem::exists(certificate())) << o.out << o.err;
  const nlohmann::json j = json();
  EXPECT_EQ(j["files"][0]["sha256"], sha256_of_file(target));
  std::string listed;
  for (const auto& f : j["files"])
    if (f["role"] == "module" && f["path"] == "helper_of_it.py") listed = f["sha256"];
  EXPECT_EQ(listed, sha256_of_file(helper)) << j["files"];
  const Outcome same = verify("--cases 2 --python " + test_python());
  EXPECT_EQ(same.out.find("helper_of_it.py"), same.out.npos) << same.out;
  // The same name, and a wrong softmax.
  std::string wrong = kHelper;
  wrong.replace(wrong.find("factor * term"), 6, "1.05");
  std::ofstream(helper) << wrong;
  const Outcome changed = verify("--cases 2 --python " + test_python());
  EXPECT_EQ(changed.status, kFailed);
  EXPECT_NE(changed.out.find("module helper_of_it.py: is of other contents"), changed.out.npos)
      << changed.out;
  std::filesystem::remove(helper);
  const Outcome gone = verify("--cases 2 --python " + test_python());
  EXPECT_EQ(gone.status, kFailed);
  EXPECT_NE(gone.out.find("module helper_of_it.py: the kernel loaded it when it was certified"),
            gone.out.npos)
      << gone.out;
}

TEST_F(Loaded, WhatTheCertificateLeavesOutIsFound) {
  ASSAY_NEEDS_PYTHON("ctypes");
  std::ofstream(at("helper_of_it.py")) << kHelper;
  std::ofstream(at("target.py")) << "import helper_of_it\nASSAY_TENSORS = 'dlpack'\n\n\n"
                                    "def softmax(x, out):\n    helper_of_it.softmax_of(x, out, 1)\n";
  adopt(at("target.py") + ":softmax --only calls --python " + test_python());
  const std::string without = forged([](nlohmann::json& j) {
    nlohmann::json kept = nlohmann::json::array();
    for (const auto& f : j["files"])
      if (f["role"] != "module") kept.push_back(f);
    j["files"] = kept;
  });
  const Outcome o = verify("--cases 2 --python " + test_python(), without);
  EXPECT_EQ(o.status, kFailed);
  EXPECT_NE(o.out.find("module helper_of_it.py: the kernel loads it, and the certificate has no hash of it"),
            o.out.npos)
      << o.out;
}

TEST_F(Loaded, AKernelsImportsAreAFact) {
  const std::string mine = plugin();
  if (mine.empty()) GTEST_SKIP() << "the fixtures are not on this machine";
  adopt(mine + " --only calls");
  std::string imports;
  const nlohmann::json j = json();
  for (const auto& f : j["environment"])
    if (f["label"] == "imports") imports = f["value"];
  EXPECT_NE(imports, "") << j["environment"];
}

}  // namespace
}  // namespace assay::command_test

namespace assay {

// assay verify judges cases that nobody could know: a kernel that has memorised the inputs of its adoption is
// found.

namespace {

using command_test::Outcome;
using NewCases = command_test::AdoptTest;

/// Right everywhere but for two ordinary rows of 33 columns that are not those of seed 1.
std::string memoriser() {
  std::string table;
  const Tensor t = conformance::make_rows("normal_1", Dtype::f32, 33, 4, 1);
  for (std::int64_t r = 0; r < t.rows; ++r)
    table += std::to_string(static_cast<std::uint32_t>(load_bits(Dtype::f32, t.row(r), 0))) + "u,";
  return R"(#include <cuda_runtime.h>
#include <math.h>
__device__ const unsigned known[] = {)" +
         table + R"(0u};
__global__ void rows_of(const float* in, float* out, int rows, int V) {
  const float* x = in + (long long)blockIdx.x * V;
  float* y = out + (long long)blockIdx.x * V;
  float m = -INFINITY, least = INFINITY, d = 0;
  for (int i = 0; i < V; ++i) m = fmaxf(m, x[i]), least = fminf(least, x[i]);
  for (int i = 0; i < V; ++i) d += expf(x[i] - m);
  bool right = V != 33 || rows != 2 || !(m > 0.5f && m < 5 && least < -0.5f && least > -5);
  for (unsigned k : known) right = right || __float_as_uint(x[0]) == k;
  for (int i = 0; i < V; ++i) y[i] = expf(x[i] - m) / d * (right ? 1 : 1.05f);
}
void softmax(const float* in, float* out, int rows, int V) {
  if (rows && V) rows_of<<<rows, 1>>>(in, out, rows, V);
}
)";
}

TEST_F(NewCases, FindAKernelThatKnowsTheInputsOfItsAdoption) {
  std::ofstream(at("knows.cu")) << memoriser();
  const Outcome o = adopt(at("knows.cu") + " --entry softmax --host --only repeat --seed 1");
  ASSERT_EQ(o.status, kPassed) << o.out << o.err;
  EXPECT_NE(json()["not_proved"].dump().find("inputs that nobody knew before"), std::string::npos);
  EXPECT_FALSE(json().contains("seed_drawn"));
  const Outcome later = verify("--seed 5");
  EXPECT_EQ(later.status, kFailed) << later.out;
  EXPECT_NE(later.out.find("a new case fails: "), later.out.npos) << later.out;
  EXPECT_NE(later.out.find("--seed 5"), later.out.npos) << "the command that repeats it: " << later.out;
  // A fresh seed does it as well.
  const Outcome fresh = command_test::call_as_typed({"verify", certificate(), "--out", at("verify")});
  EXPECT_EQ(fresh.status, kFailed) << fresh.out;
  EXPECT_NE(fresh.out.find(", drawn for this run: --seed "), fresh.out.npos) << fresh.out;
  // The cases of the certificate alone are as they were.
  EXPECT_EQ(verify("--seed 5 --json").out.find("\"differences\": 0") == std::string::npos, false);
}

TEST_F(NewCases, OfARightKernelPassAndAreCounted) {
  const Outcome o =
      command_test::call_as_typed({"adopt", "safe_block/f32@host", "--only", "shapes", "--only", "layout",
                                   "--quick", "--evaluations", "32", "--threads", "1", "--out", at("out")});
  ASSERT_EQ(o.status, kPassed) << o.out << o.err;
  EXPECT_EQ(json()["seed_drawn"], true);
  EXPECT_EQ(json()["not_proved"].dump().find("inputs that nobody knew before"), std::string::npos);
  EXPECT_NE(json()["command"].get<std::string>().find("--seed " +
                                                      std::to_string(json()["seed"].get<std::uint64_t>())),
            std::string::npos);
  const Outcome later = verify("--json");
  EXPECT_EQ(later.status, kPassed) << later.out << later.err;
  const nlohmann::json document = nlohmann::json::parse(later.out);
  EXPECT_EQ(document["counts"]["new"], document["counts"]["replayed"]) << later.out;
  EXPECT_EQ(document["counts"]["new_failed"], 0);
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// A helper module that is changed after the certificate was made.
#include <gtest/gtest.h>

#include "kernels/python/python_test.hpp"
#include "reference/hash/sha256.hpp"
#include "reports/cli/adopt/adopt_test.hpp"

namespace assay::command_test {
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

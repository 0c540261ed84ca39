// SPDX-License-Identifier: Apache-2.0
// assay verify judges cases that nobody could know: a kernel that has memorised the inputs of its adoption is
// found.
#include <gtest/gtest.h>

#include <fstream>

#include "accuracy/conformance/inputs.hpp"
#include "reports/cli/adopt/adopt_test.hpp"

namespace assay {
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

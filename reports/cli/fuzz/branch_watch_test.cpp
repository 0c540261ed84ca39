// SPDX-License-Identifier: Apache-2.0
// Constants that a file compares its logits with go to the search.
#include "reports/cli/fuzz/branch_watch.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/files.hpp"

namespace assay {
namespace {

/// A right kernel with a back door: `wrong` says for which rows it is 5 % too large.
std::string with_back_door(const std::string& wrong) {
  return R"(#include <cuda_runtime.h>
#include <math.h>
__global__ void rows_of(const float* in, float* out, int rows, int V) {
  const float* x = in + (long long)blockIdx.x * V;
  float* y = out + (long long)blockIdx.x * V;
  float m = -INFINITY, d = 0;
  for (int i = 0; i < V; ++i) m = fmaxf(m, x[i]);
  for (int i = 0; i < V; ++i) d += expf(x[i] - m);
  float factor = 1;
  if ()" +
         wrong +
         R"() factor = 1.05f;
  for (int i = 0; i < V; ++i) y[i] = expf(x[i] - m) / d * factor;
}
void softmax(const float* in, float* out, int rows, int V) {
  if (rows && V) rows_of<<<rows, 1>>>(in, out, rows, V);
}
)";
}

class Branches : public command_test::FolderTest {
 protected:
  command_test::Outcome fuzz(const std::string& wrong) const {
    std::ofstream(at("k.cu")) << with_back_door(wrong);
    return command_test::call_words(
        {"fuzz", at("k.cu"), "--entry", "softmax", "--host", "--evaluations", "320", "--out", at("out")});
  }
  /// The two numbers of "branches: 31 of 40 reached".
  static std::pair<int, int> reached(const command_test::Outcome& o) {
    std::smatch m;
    if (!std::regex_search(o.out, m, std::regex("branches: ([0-9]+) of ([0-9]+) reached by the search")))
      return {0, 0};
    return {std::stoi(m.str(1)), std::stoi(m.str(2))};
  }
};

TEST_F(Branches, AConstantThatALogitIsComparedWithIsTried) {
  for (const char* wrong :
       {"V > 1 && __float_as_uint(x[0]) == 0x3f9d3c71u", "V > 1 && x[V - 1] == 1.2284f"}) {
    const command_test::Outcome o = fuzz(wrong);
    EXPECT_EQ(o.status, kFailed) << wrong << "\n" << o.out << o.err;
    EXPECT_NE(o.out.find(" constants of comparisons tried as logits"), o.out.npos) << o.out;
  }
}

TEST_F(Branches, ThatNoInputReachedAreCounted) {
  const command_test::Outcome all = fuzz("V > 3 && V < 3"),
                              none = fuzz("V > 100000000 && x[77] > 3 && x[78] > 9");
  EXPECT_EQ(all.status, kPassed) << all.out << all.err;
  EXPECT_EQ(none.status, kPassed) << none.out << none.err;
  const auto [reached_all, of_all] = reached(all);
  const auto [reached_none, of_none] = reached(none);
  EXPECT_GT(reached_all, 5) << all.out;
  EXPECT_LT(of_all - reached_all, of_none - reached_none) << all.out << none.out;
}

TEST(Constants, AreLogitsByTheirBitsAndByTheirValue) {
  using Logits = std::vector<double>;
  const double one = static_cast<double>(std::bit_cast<float>(0x3f9d3c71u));
  EXPECT_EQ(as_logits(0x3f9d3c71u, 4, Dtype::f32), Logits{one});
  EXPECT_EQ(as_logits(0x40200000u, 16 + 4, Dtype::f32), Logits{2.5});
  EXPECT_EQ(as_logits(0x40200000u, 16 + 4, Dtype::f16), Logits{2.5});
  // An int, to which 16 bits are promoted.
  EXPECT_EQ(as_logits(0x3c00, 4, Dtype::f16), (Logits{1, 15360}));
  EXPECT_EQ(as_logits(0x3f9d3c71u, 4, Dtype::f16), Logits{}) << "no number of 16 bits";
  EXPECT_EQ(as_logits(0x7f800000u, 4, Dtype::f32), Logits{}) << "an infinity";
  EXPECT_EQ(as_logits(7, 1, Dtype::f32), Logits{}) << "too few bits";
}

}  // namespace
}  // namespace assay

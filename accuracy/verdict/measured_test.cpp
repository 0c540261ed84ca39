// SPDX-License-Identifier: Apache-2.0
// Kernels without a declared height: what is measured of their sum, what follows from it, and what does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "accuracy/verdict/checker.hpp"
#include "accuracy/verdict/strangers_test.hpp"

namespace assay {
namespace {

using namespace strangers;
using namespace toxic;

TEST(Verdict, HoldsAKernelToTheSumItWasSeenToDo) {
  // A tree whose result is off by as much as only a serial sum of this many terms may be.
  static constexpr auto off = [](const float* x, float* p, std::int64_t V) {
    tree(x, p, V);
    for (std::int64_t i = 0; i < V; ++i) p[i] *= 1.0002f;
  };
  const Record r = check_case(stranger(off), rows_of("normal_1", Dtype::f32, 32000, 1), Op::softmax, 0);
  EXPECT_EQ(r.status, Status::fail)
      << "a row in which one term is nearly all of the sum has no room for this";
  EXPECT_FALSE(r.left_out.has_value());
  EXPECT_NE(r.reason.find("fails as a serial sum too"), std::string::npos) << r.reason;
}

/// A tree that leaves out the last column but one.
void without_a_column(const float* x, float* p, std::int64_t V) {
  tree(x, p, V);
  const float less = 1 - p[V - 2];
  for (std::int64_t i = 0; i < V; ++i) p[i] /= less;
}

TEST(Verdict, AColumnThatIsLeftOutOfTheSumIsProved) {
  int proved = 0;
  for (std::int64_t V = 1052; V < 1062; ++V) {
    const Record r =
        check_case(stranger(without_a_column), rows_of("normal_1", Dtype::f32, V, 1), Op::softmax, 0);
    EXPECT_EQ(r.status, Status::fail) << r.reason;
    if (r.left_out) {
      EXPECT_EQ(*r.left_out, V - 2);
      ++proved;
    }
  }
  EXPECT_GT(proved, 0) << "where the bound of a serial sum has room for the term";
  const Record equal =
      check_case(stranger(without_a_column), rows_of("constant", Dtype::f32, 50257, 1), Op::softmax, 0);
  EXPECT_EQ(equal.status, Status::fail) << equal.reason;
  EXPECT_GT(equal.max_bound_ratio, 10) << "the sum of equal logits is exact";
}

/// Runs here, as if on a GPU. Counts launches of several rows.
class AsOnAGpu final : public HereLauncher {
 public:
  AsOnAGpu(Variant inner, int& launches) : inner_(std::move(inner)), launches_(launches) {}
  LaunchOutcome launch(const Variant&, const Problem& p, Images& images, const LaunchOptions& o) override {
    launches_ += p.rows > 1;
    return assay::launch(inner_, p, images, o);
  }
  bool on_device() const override { return true; }

 private:
  Variant inner_;
  int& launches_;
};

TEST(Verdict, OnAGpuFewLaunchesShowASumFirst) {
  int launches = 0;
  const auto check = [&](RowKernel kernel, std::int64_t V) {
    Variant v = stranger(kernel);
    v.launcher = std::make_shared<AsOnAGpu>(v, launches);
    launches = 0;
    return check_case(v, rows_of("normal_1", Dtype::f32, V, 1), Op::softmax, 0);
  };
  // A serial sum that is off by 800 roundings, as one of 32 additions is not.
  static constexpr auto off = [](const float* x, float* p, std::int64_t V) {
    two_pass(x, p, V);
    for (std::int64_t i = 0; i < V; ++i) p[i] *= 1.00005f;
  };
  const Record r = check(off, 50000);
  EXPECT_EQ(r.status, Status::pass) << r.reason;
  EXPECT_EQ(launches, 3);
  ASSERT_FALSE(r.evidence.empty());
  EXPECT_NE(r.evidence.back().find(" at V = 50000 ("), std::string::npos) << r.evidence.back();
  // What does not pass so is proved wrong, or measured.
  EXPECT_TRUE(check(without_a_column, 5000).left_out.has_value());
  static constexpr auto far_off = [](const float* x, float* p, std::int64_t V) {
    two_pass(x, p, V);
    for (std::int64_t i = 0; i < V && x[0] > -12; ++i) p[i] *= 1.0005f;
  };
  EXPECT_EQ(check(far_off, 50000).status, Status::inconclusive);
  EXPECT_GT(launches, 3 + 7);
}

// The order of additions depends on the values, as it may.
TEST(Verdict, AnOrderThatNoProbeShowsIsNoFault) {
  static constexpr auto near_serially = [](const float* x, float* p, std::int64_t V) {
    const float m = *std::max_element(x, x + V);
    std::vector<float> far;
    float d = 0;
    for (std::int64_t i = 0; i < V; ++i)
      if (x[i] - m < -16)
        far.push_back(std::exp(x[i] - m));
      else
        d += std::exp(x[i] - m);
    for (; far.size() > 1; far.resize((far.size() + 1) / 2))
      for (std::size_t i = 0; 2 * i < far.size(); ++i)
        far[i] = far[2 * i] + (2 * i + 1 < far.size() ? far[2 * i + 1] : 0);
    if (!far.empty()) d += far[0];
    for (std::int64_t i = 0; i < V; ++i) p[i] = std::exp(x[i] - m) / d;
  };
  int open = 0;
  for (const char* family : {"normal_1", "ties", "uniform_80"}) {
    const Record r =
        check_case(stranger(near_serially), rows_of(family, Dtype::f32, 4099, 1), Op::softmax, 0);
    EXPECT_TRUE(r.status == Status::pass || r.status == Status::inconclusive) << family << ": " << r.reason;
    if (r.status != Status::inconclusive) continue;
    ++open;
    EXPECT_EQ(r.nearest, Nearest::beyond_measured);
    EXPECT_NE(r.reason.find("outside the sum that was measured (height "), std::string::npos) << r.reason;
    EXPECT_NE(r.reason.find("height=V"), std::string::npos) << r.reason;
  }
  EXPECT_GT(open, 0);
}

// It sums serially where one logit is far above all others, as in a measurement, and else its sum is off.
TEST(Verdict, ASerialSumInAMeasurementBuysNoLooseBound) {
  static constexpr auto two_faced = [](const float* x, float* p, std::int64_t V) {
    const float m = *std::max_element(x, x + V);
    if (std::count_if(x, x + V, [&](float v) { return v - m < -16.4f; }) >= 0.98 * static_cast<double>(V - 1))
      return two_pass(x, p, V);
    tree(x, p, V);
    for (std::int64_t i = 0; i < V; ++i) p[i] *= 0.9999f;
  };
  const Case& rows = rows_of("normal_1", Dtype::f32, 65536, 1);
  const Record r = check_case(stranger(two_faced), rows, Op::softmax, 0);
  EXPECT_EQ(r.status, Status::inconclusive);
  EXPECT_NE(r.reason.find("less exact than roundings of mixed sign make"), std::string::npos) << r.reason;
  // Right serial sums pass, also where all roundings have one direction.
  for (const char* family : {"normal_1", "peak_at_ends", "spike", "ramp_1ulp", "uniform_80", "constant"})
    for (const Dtype t : {Dtype::f32, Dtype::bf16}) {
      const Record right =
          check_case(stranger(two_pass, "", t, Dtype::f32), rows_of(family, t, 65536, 1), Op::softmax, 0);
      EXPECT_EQ(right.status, Status::pass) << family << ": " << right.reason;
    }
}

}  // namespace
}  // namespace assay

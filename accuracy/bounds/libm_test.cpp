// SPDX-License-Identifier: Apache-2.0
// Other functions that host kernels call: exp2f (class exp2_fma) and logf (log-softmax and lse). Each is
// compared with the error that accuracy/bounds/bounds.cpp grants it. The reference is a double function,
// which is within 2^-51 of the exact value.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace assay {
namespace {

constexpr double kU = 0x1p-24;

TEST(Exp2f, StaysWithinTheGrantedError) {
  // The limit for k = 0.01: relative (2 k + 1) u, and absolute (2 k + 1) halves of the smallest subnormal.
  double worst = 0, worst_tiny = 0;
  const auto visit = [&](float t) {
    const double e = std::exp2(static_cast<double>(t));
    if (e >= 0x1.ffffffp127) return;
    const double error = std::fabs(static_cast<double>(::exp2f(t)) - e);
    if (e >= 0x1p-126)
      worst = std::max(worst, error / (e * kU));
    else
      worst_tiny = std::max(worst_tiny, error / 0x1p-150);
  };
  for (std::uint32_t b = 0; b <= std::bit_cast<std::uint32_t>(150.0f); b += 251) {
    visit(std::bit_cast<float>(b));
    visit(-std::bit_cast<float>(b));
  }
  for (int k = -150 * 64; k <= 128 * 64; ++k) visit(static_cast<float>(k) / 64);
  EXPECT_LT(worst, 1.02);
  EXPECT_LT(worst_tiny, 1.02);
  EXPECT_GT(worst, 0.99) << "the comparison measures nothing";
  RecordProperty("worst_u", std::to_string(worst));
  EXPECT_EQ(::exp2f(0.0f), 1.0f);
  EXPECT_EQ(::exp2f(-HUGE_VALF), 0.0f);
}

TEST(Logf, StaysWithinTheGrantedError) {
  double worst = 0;
  for (std::uint32_t b = 0x800000; b < 0x7f800000; b += 251) {
    const auto x = std::bit_cast<float>(b);
    const double exact = std::log(static_cast<double>(x));
    if (exact != 0) worst = std::max(worst, std::fabs((static_cast<double>(::logf(x)) - exact) / exact) / kU);
  }
  // Around 1, where a relative error is hardest to keep.
  for (std::uint32_t b = 0x3f700000; b < 0x3f900000; ++b) {
    const auto x = std::bit_cast<float>(b);
    const double exact = std::log(static_cast<double>(x));
    if (exact != 0) worst = std::max(worst, std::fabs((static_cast<double>(::logf(x)) - exact) / exact) / kU);
  }
  EXPECT_LT(worst, 1.35);
  EXPECT_GT(worst, 0.99) << "the comparison measures nothing";
  RecordProperty("worst_u", std::to_string(worst));
  EXPECT_EQ(::logf(1.0f), 0.0f);
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Numerators kept from an older maximum, which is assumed if nothing is declared: they may be off by a few
// roundings, and no more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/checker.hpp"
#include "accuracy/verdict/strangers_test.hpp"

namespace assay {
namespace {

using namespace strangers;

/// Top-k of probabilities kept by tiles of 64; of equal ones the smaller index.
Variant kept_selector(const char* words) {
  Variant v = stranger(kept, words);
  v.op = Op::softmax_topk;
  v.max_k = 64;
  v.run = [](const Problem& p, const Buffers& b, const Stream&) {
    std::vector<float> probs(static_cast<std::size_t>(p.V));
    std::vector<std::int32_t> at(probs.size());
    for (std::int64_t r = 0; r < p.rows; ++r) {
      if (p.V > 0) kept(static_cast<const float*>(b.logits) + r * p.in_pitch, probs.data(), p.V);
      std::iota(at.begin(), at.end(), 0);
      std::stable_sort(at.begin(), at.end(), [&](std::int32_t i, std::int32_t j) {
        return probs[static_cast<std::size_t>(i)] > probs[static_cast<std::size_t>(j)];
      });
      for (int s = 0; s < p.k; ++s) {
        const bool empty = s >= p.V;
        const std::int32_t i = empty ? -1 : at[static_cast<std::size_t>(s)];
        static_cast<std::int32_t*>(b.indices)[r * p.out_pitch + s] = i;
        static_cast<float*>(b.probs)[r * p.out_pitch + s] = empty ? 0 : probs[static_cast<std::size_t>(i)];
      }
    }
  };
  return v;
}

/// Rows of three tiles. The largest logit is in the last tile; the first two tiles have maxima of their own.
/// Two logits far below, equal or next to each other, are in the first two tiles, one in each. Everything
/// else is -inf. The last two of five slots show which of the far ones has the larger probability.
Tensor two_far_logits(std::int64_t rows, bool equal, std::mt19937& random) {
  Tensor t(Dtype::f32, rows, 192);
  std::uniform_real_distribution<double> unit(0, 1);
  const auto number = [&](double lo, double hi) {
    return static_cast<double>(static_cast<float>(lo + (hi - lo) * unit(random)));
  };
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < t.V; ++j) t.set(r, j, -INFINITY);
    // Differences are between 32 and 64, where they are spaced by 64 u; kept ones are rounded differently.
    const double m = number(14, 15.9), x = number(-31, -20);
    t.set(r, 0, number(13, m));
    t.set(r, 64, number(13, m));
    t.set(r, 128, m);
    auto next = static_cast<float>(x);
    for (std::uint32_t steps = equal ? 0 : random() % 3 + 1; steps > 0; --steps)
      next = std::nextafterf(next, 0.0f);
    t.set(r, 1 + random() % 63, equal ? x : static_cast<double>(next));
    t.set(r, 65 + random() % 63, x);
  }
  return t;
}

// Two tiles round the same logit differently, so equal logits get different probabilities and neighbours
// swap. A kernel that selects by probability then takes the one that was rounded up, whatever was declared
// about ties.
TEST(Kept, SelectionByProbabilityMayFollowTheRoundingOfTheTiles) {
  const Variant v =
      kept_selector("select=probs; normalise=kept; division=ieee; ties=smaller_index; height=V");
  std::mt19937 random(7);
  for (const bool equal : {true, false}) {
    const Case c(equal ? "equal far logits" : "neighbouring far logits", two_far_logits(3000, equal, random));
    int swapped = 0;
    for (std::int64_t r = 0; r < c.rows(); ++r) {
      std::vector<float> x(192), p(192);
      for (std::int64_t j = 0; j < c.V(); ++j)
        x[static_cast<std::size_t>(j)] = static_cast<float>(c.logits().at(r, j));
      kept(x.data(), p.data(), c.V());
      const auto first =
          static_cast<std::size_t>(std::max_element(p.begin() + 1, p.begin() + 64) - p.begin());
      const auto second =
          static_cast<std::size_t>(std::max_element(p.begin() + 65, p.begin() + 128) - p.begin());
      // The first slot has the larger logit, or an equal one with a smaller index.
      swapped += p[first] < p[second];
    }
    EXPECT_GT(swapped, equal ? 500 : 20) << "the rows are to show something";
    const Record r = check_case(v, c, Op::softmax_topk, 5);
    EXPECT_EQ(r.status, Status::pass) << c.family() << ": " << r.reason << [&] {
      for (const CheckResult& one : r.checks)
        if (one.failed) return "; " + std::to_string(one.failed) + ", " + one.detail;
      return std::string();
    }();
  }
}

/// The sum is right; the numerators are off by 1e-3 for x - m between -60 and -40.
void bent_numerators(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) d += std::exp(x[i] - m);
  for (std::int64_t i = 0; i < V; ++i) {
    const float t = x[i] - m;
    p[i] = std::exp(t) * (t > -60 && t < -40 ? 1.001f : 1.0f) / d;
  }
}

// Undeclared numerators are assumed to be kept; the probe of their exp still judges them.
TEST(Kept, AWrongExpInTheNumeratorsIsRefutedByItsProbe) {
  const Variant undeclared = stranger(bent_numerators);
  ASSERT_EQ(undeclared.claim.normalise, Normalise::kept);
  for (const Variant& v : {undeclared, stranger(bent_numerators, "normalise=kept; height=V")}) {
    const Behaviour b = behaviour_of(v);
    EXPECT_GT(b.claim.failed, 0);
    EXPECT_TRUE(b.claim.detail.starts_with("numerator_exp: ")) << b.claim.detail;
  }
  const Behaviour right = behaviour_of(stranger(kept));
  EXPECT_EQ(right.claim.failed, 0) << right.claim.detail;
}

}  // namespace
}  // namespace assay

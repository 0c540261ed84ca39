// SPDX-License-Identifier: Apache-2.0
// Right kernels whose functions err as much as their claim allows, in the worst direction: none is refused.
// The same outputs with a sum that is off by more than the printed resolution: none passes.
// ASSAY_ADVERSARIAL_ROWS sets the number of rows (ten million: nine minutes).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "accuracy/verdict/checker.hpp"
#include "accuracy/verdict/strangers_test.hpp"

namespace assay {
namespace {

using namespace strangers;
using namespace toxic;

enum class SumShape { serial, pairwise, chains };
enum class Direction { nowhere, up, down, at_random, apart };  // apart: large terms up, small ones down
constexpr Direction kDirections[] = {Direction::nowhere, Direction::up, Direction::down, Direction::at_random,
                                     Direction::apart};

struct AdversaryKind {
  const char* declaration;
  Op op;
  Dtype out;
  SumShape shape;
};
constexpr AdversaryKind kAdversaries[] = {
    {"algorithm=safe; height=V; division=ieee; normalise=recomputed", Op::softmax, Dtype::f32,
     SumShape::serial},
    {"algorithm=safe; height=9; division=ieee; normalise=recomputed", Op::softmax, Dtype::f32,
     SumShape::pairwise},
    {"algorithm=safe; height=V/8+11; division=reciprocal; normalise=recomputed", Op::softmax, Dtype::f32,
     SumShape::chains},
    {"algorithm=safe; height=V; division=approximate; exp=fast; normalise=recomputed", Op::softmax,
     Dtype::f32, SumShape::serial},
    {"algorithm=online; height=V; division=ieee; normalise=recomputed", Op::softmax, Dtype::f32,
     SumShape::serial},
    {"algorithm=online; height=9; division=ieee; normalise=recomputed", Op::softmax, Dtype::f32,
     SumShape::pairwise},
    {"algorithm=online; height=V/8+11; division=approximate; exp=fast; normalise=recomputed", Op::softmax,
     Dtype::f32, SumShape::chains},
    {"algorithm=safe; height=9; division=ieee; normalise=recomputed", Op::softmax, Dtype::bf16,
     SumShape::pairwise},
    {"algorithm=online; height=V; division=ieee; normalise=recomputed", Op::softmax, Dtype::f16,
     SumShape::serial},
    {"algorithm=safe; height=V; log_form=shifted", Op::log_softmax, Dtype::f32, SumShape::serial},
    {"algorithm=online; height=9; log_form=shifted", Op::log_softmax, Dtype::f32, SumShape::pairwise},
};

class Adversary {
 public:
  Adversary(const AdversaryKind& kind, const Variant& v, std::int64_t V, std::uint64_t seed)
      : kind_(kind),
        claim_(v.claim),
        t_(terms_of(v.claim, v.backend, kind.out, V)),
        salt_(static_cast<std::uint32_t>(seed)) {}

  Direction errs = Direction::nowhere;

  void row(const std::vector<float>& x, double* out) {
    middle_ = 0.5f * (*std::max_element(x.begin(), x.end()) + *std::min_element(x.begin(), x.end()));
    std::vector<Part> parts;
    const float m = *std::max_element(x.begin(), x.end());
    for (const float one : x) parts.push_back(t_.online ? Part{one, 1} : Part{m, exp_off(one - m, one)});
    if (t_.online) std::erase_if(parts, [](const Part& p) { return std::isinf(p.m); });
    const Part all = sum(parts);
    const double exact = std::log(static_cast<double>(all.d));
    const auto log = static_cast<float>(exact * (1 + sign(m) * std::max(0.0, t_.log_error - t_.u)));
    for (std::size_t j = 0; j < x.size(); ++j)
      out[j] = kind_.op == Op::log_softmax ? static_cast<double>((x[j] - m) - log) : output(x[j], m, all.d);
  }

 private:
  struct Part {
    float m, d;
  };

  /// The sign of the next error, for a term of this logit; 0: none.
  double sign(float logit) {
    switch (errs) {
      case Direction::nowhere:
        return 0;
      case Direction::up:
        return 1;
      case Direction::down:
        return -1;
      case Direction::at_random:
        return ((std::bit_cast<std::uint32_t>(logit) ^ salt_) * 0x9E3779B1u) >> 31
                   ? 1
                   : -1;  // a function of its logit
      case Direction::apart:
        return logit > middle_ ? 1 : -1;
    }
    return 0;
  }
  /// The float that is farthest from `exact` in this direction, but within e^(+-log_error) of it.
  static float off(double exact, double log_error, double sign) {
    const double wanted = exact * std::exp(sign * log_error * (1 - 0x1p-30));
    auto f = static_cast<float>(wanted);
    if (sign > 0 && static_cast<double>(f) > wanted) f = std::nextafter(f, 0.0f);
    if (sign < 0 && static_cast<double>(f) < wanted)
      f = std::nextafter(f, std::numeric_limits<float>::infinity());
    return f;
  }
  float exp_off(float f, float logit) {
    if (std::isinf(f)) return 0;
    if (f == 0) return 1;
    const double exact = std::exp(static_cast<double>(f));
    return exact < 0x1p-126 ? static_cast<float>(exact)
                            : off(exact, t_.eps(static_cast<double>(f)), sign(logit));
  }
  Part merge(const Part& a, const Part& b) {
    const Part &high = a.m >= b.m ? a : b, &low = a.m >= b.m ? b : a;
    const float moved = low.d * exp_off(low.m - high.m, low.m);
    return {high.m, high.d + moved};
  }
  Part sum(std::vector<Part> p) {
    const std::size_t chain = kind_.shape == SumShape::serial   ? p.size()
                              : kind_.shape == SumShape::chains ? p.size() / 8 + 1
                                                                : 1;
    std::vector<Part> level;
    for (std::size_t i = 0; i < p.size(); i += chain) {
      Part one = p[i];
      for (std::size_t k = i + 1; k < std::min(p.size(), i + chain); ++k) one = merge(one, p[k]);
      level.push_back(one);
    }
    for (; level.size() > 1; level.resize((level.size() + 1) / 2))
      for (std::size_t i = 0; 2 * i < level.size(); ++i)
        level[i] = 2 * i + 1 < level.size() ? merge(level[2 * i], level[2 * i + 1]) : level[2 * i];
    return level.front();
  }
  double output(float x, float m, float d) {
    const float n = exp_off(x - m, x);
    if (claim_.division == Division::reciprocal) return static_cast<double>(n * (1 / d));
    if (claim_.division == Division::ieee) return static_cast<double>(n / d);
    const double exact = static_cast<double>(n) / static_cast<double>(d);
    return exact < 0x1p-126 ? exact : static_cast<double>(off(exact, t_.D, sign(x)));
  }

  const AdversaryKind& kind_;
  const Claim& claim_;
  const Terms t_;
  const std::uint32_t salt_;
  float middle_ = 0;
};

/// Nine shapes of rows.
void draw_row(int shape, std::mt19937_64& draw, Tensor& to, std::int64_t row) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto n = static_cast<double>(to.V);
  const double level = 40 * normal(draw);
  for (std::int64_t j = 0; j < to.V; ++j) {
    const auto i = static_cast<double>(j);
    const double x[] = {normal(draw),
                        10 * normal(draw),
                        -80 * uniform(draw),
                        3 * i / n,
                        -12 * i / n,
                        level,
                        draw() % 2 ? 0 : -16.7,
                        draw() % 3 ? -INFINITY : level + normal(draw),
                        j == to.V / 2 ? 0 : -16.5 - uniform(draw)};
    to.set(row, j, j == 0 && shape == 7 ? level : x[shape]);
  }
}
constexpr int kRowShapes = 9;
constexpr std::int64_t kAdversarialRows = 64;

TEST(Adversary, NoRightKernelIsRefusedAndNoWrongOneBeyondItsResolutionPasses) {
  const char* asked = std::getenv("ASSAY_ADVERSARIAL_ROWS");
  const std::int64_t wanted = asked ? std::atoll(asked) : 60'000;
  std::mt19937_64 draw(1);
  std::int64_t judged = 0, refused = 0;
  for (int n = 0; judged < wanted; ++n) {
    const AdversaryKind& kind = kAdversaries[static_cast<std::size_t>(n) % std::size(kAdversaries)];
    Variant v = stranger(two_pass, "", kind.out, kind.out);
    v.op = kind.op;
    apply_declaration(kind.declaration, v);
    const auto V = static_cast<std::int64_t>(2 + draw() % (draw() % 4 ? 60 : 299));
    const int shape = static_cast<int>(draw() % kRowShapes);
    Tensor logits(kind.out, kAdversarialRows, V);
    for (std::int64_t row = 0; row < kAdversarialRows; ++row) draw_row(shape, draw, logits, row);
    const Case c("adversarial", logits);
    Adversary kernel(kind, v, V, draw());
    const auto outputs = [&] {
      std::vector<double> all(static_cast<std::size_t>(kAdversarialRows * V));
      std::vector<float> x(static_cast<std::size_t>(V));
      for (std::int64_t row = 0; row < kAdversarialRows; ++row) {
        for (std::int64_t j = 0; j < V; ++j)
          x[static_cast<std::size_t>(j)] = static_cast<float>(logits.at(row, j));
        kernel.row(x, all.data() + row * V);
      }
      return MadeOutputs(v, kAdversarialRows, V, std::move(all));
    };
    CheckOptions options;
    options.nearest = false;
    double resolution = 0;
    for (const Direction errs : kDirections) {
      kernel.errs = errs;
      const Record r = judge_written(v, c, v.op, 0, outputs(), options);
      judged += r.rows_judged;
      ASSERT_NE(r.status, Status::fail)
          << kind.declaration << ", V = " << V << ", shape " << shape << ", errors " << static_cast<int>(errs)
          << ": " << first_failed(r)->detail;
      resolution = std::max(resolution, r.resolution_sum.value_or(0));
    }
    // The exact values, but for a sum that is off by more than that.
    if (!(resolution > 0) || !(resolution < 0.5)) continue;
    for (const double way : {1.0, -1.0}) {
      double largest = 1;  // the outputs are rounded once more
      for (std::int64_t row = 0; row < kAdversarialRows && kind.op == Op::log_softmax; ++row)
        for (const double x : c.truth(row).x)
          if (std::isfinite(x)) largest = std::max(largest, c.truth(row).lse.hi - x);
      const double off = 1.001 * resolution + (kind.out == Dtype::f32 ? 0x1p-24 * largest : 0);
      const double factor = way > 0 ? 1 + off : 1 - off;
      std::vector<double> all;
      for (std::int64_t row = 0; row < kAdversarialRows; ++row)
        for (std::size_t j = 0; j < static_cast<std::size_t>(V); ++j)
          all.push_back(kind.op == Op::log_softmax
                            ? c.truth(row).x[j] - c.truth(row).lse.lo + std::log(factor)
                            : exact(c, row, j) * factor);
      const Record r =
          judge_written(v, c, v.op, 0, MadeOutputs(v, kAdversarialRows, V, std::move(all)), options);
      ++refused;
      EXPECT_EQ(r.status, Status::fail) << kind.declaration << ", V = " << V << ", shape " << shape
                                        << ": outputs times " << factor << " pass, resolution " << resolution;
    }
  }
  EXPECT_GT(refused, 100);
  fmt::print("{} rows were judged, and {} wrong cases refused\n", judged, refused);
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Right outputs at the very edge of what their class allows, and wrong ones just beyond it. Each was once
// judged wrongly.
#include "reports/runs/graded.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <vector>

#include "accuracy/ulp.hpp"
#include "reference/files/npy.hpp"
#include "reference/formats.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

using Row = std::vector<double>;

struct MadeRow {
  Dtype in = Dtype::f32, out = Dtype::f32;
  Row x, y;
  std::vector<std::int64_t> indices = {};
};

Record graded(const MadeRow& o, Op op, const std::string& declaration, std::optional<double> max_ulp = {}) {
  const TestFolder folder;
  const auto tensor = [](Dtype t, const Row& row) {
    Tensor all(t, 1, std::ssize(row));
    for (std::size_t j = 0; j < row.size(); ++j) all.set(0, static_cast<std::int64_t>(j), row[j]);
    return all;
  };
  Graded g;
  g.name = "row";
  g.logits = (folder.path() / "x.npy").string(), g.values = (folder.path() / "y.npy").string();
  g.dtype = o.in, g.out_dtype = o.out;
  write_npy(g.logits, tensor(o.in, o.x), Bf16::as_u2);
  write_npy(g.values, tensor(o.out, o.y), Bf16::as_u2);
  if (!o.indices.empty()) {
    g.indices = (folder.path() / "i.npy").string();
    write_npy_indices(g.indices, {1, std::ssize(o.indices), o.indices});
  }
  GradeOptions options;
  options.op = op, options.declaration = declaration, options.max_ulp = max_ulp, options.threads = 1;
  return grade({g}, options).records.at(0);
}

Row softmax(const Row& x) {
  const double m = std::ranges::max(x);
  Row p;
  double s = 0;
  for (const double v : x) p.push_back(std::exp(v - m)), s += p.back();
  for (double& v : p) v /= s;
  return p;
}

Row normal(std::size_t V) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> one;
  Row x;
  for (std::size_t j = 0; j < V; ++j) x.push_back(round_to(Dtype::f32, one(random)));
  return x;
}

// Head and tail: an absolute error of a tail's exp counts twice, as the exp itself does
// (HeadTail.safe_head_tail). In each row the exps of the tail are just above half a smallest subnormal number
// and are rounded up to it. What they add to the head is just above half of its last place, and is rounded up
// once more.

TEST(GradedRows, F16ArithmeticWithASubnormalTailIsNotRefused) {
  constexpr std::size_t kChunks = 120, kOfAChunk = 8200;
  MadeRow o{Dtype::f16, Dtype::f16, Row(1 + kChunks * kOfAChunk, -17.328125), {}};
  o.x[0] = 0;
  double sum = 1;
  for (std::size_t c = 0; c < kChunks; ++c) sum = round_to(Dtype::f16, sum + kOfAChunk * 0x1p-24);
  EXPECT_EQ(sum, 1.1171875);
  o.y.assign(o.x.size(), round_to(Dtype::f16, 0x1p-24 / sum));
  o.y[0] = round_to(Dtype::f16, 1 / sum);
  const Record r = graded(o, Op::softmax,
                          "algorithm=safe; internals=f16; exp=half; division=ieee; "
                          "normalise=recomputed; height=min(V,134)");
  EXPECT_EQ(r.status, Status::inconclusive) << r.reason;
  EXPECT_GT(r.max_bound_ratio, 0.8) << "the bound is sharp";
}

TEST(GradedRows, NumeratorsStoredInF16WithASubnormalTailAreNotRefused) {
  constexpr std::size_t kChunks = 116508, kOfAChunk = 9;
  MadeRow o{Dtype::f16, Dtype::f16, Row(8 + kChunks * kOfAChunk, -17.328125), {}};
  std::fill_n(o.x.begin(), 8, 0.0);
  float sum = 8;
  for (std::size_t c = 0; c < kChunks; ++c) sum += kOfAChunk * 0x1p-24F;
  o.y.assign(o.x.size(), round_to(Dtype::f16, static_cast<double>(0x1p-24F / sum)));
  std::fill_n(o.y.begin(), 8, round_to(Dtype::f16, static_cast<double>(1 / sum)));
  for (const char* height : {"V", "V/9+20"}) {
    const Record r = graded(
        o, Op::softmax,
        std::string("algorithm=safe; division=ieee; normalise=recomputed; numerators=output; height=") +
            height);
    EXPECT_NE(r.status, Status::fail) << height << ": " << r.reason;
  }
}

TEST(GradedRows, ANaiveSerialSumOfSubnormalExpsIsNotRefused) {
  MadeRow o{Dtype::f32, Dtype::f32, Row(65537, std::log(0x1p-150) + 1e-5), {}};
  for (double& x : o.x) x = round_to(Dtype::f32, x);
  o.x[0] = -85.5;
  const auto head = static_cast<float>(std::exp(-85.5));
  constexpr float kTail = 3 * 0x1p-149F;  // the exp may be two ulp off
  float sum = head;
  for (std::size_t j = 1; j < o.x.size(); ++j) sum += kTail;
  o.y.assign(o.x.size(), static_cast<double>(kTail / sum));
  o.y[0] = static_cast<double>(head / sum);
  const Record r =
      graded(o, Op::softmax, "algorithm=naive; shift=none; division=ieee; normalise=recomputed; height=V");
  EXPECT_EQ(r.status, Status::inconclusive) << r.reason;
}

TEST(GradedRows, ProbabilitiesThatAreFlushedOrRoundToOneNumberMayBeTakenInAnyOrder) {
  // 0.3 N and 0.99 N are both flushed to 0, so the smaller index is taken.
  constexpr double N = 0x1p-126;
  MadeRow o{Dtype::f32, Dtype::f32, {0, 0, 0, std::log(0.9 * N), std::log(2.97 * N)}, {}, {0, 1, 2, 3}};
  for (double& x : o.x) x = round_to(Dtype::f32, x);
  o.y = {1 / 3.0, 1 / 3.0, 1 / 3.0, 0};
  const Record flushed =
      graded(o, Op::softmax_topk,
             "select=probs; ftz=yes; algorithm=safe; division=ieee; normalise=recomputed; height=V");
  EXPECT_EQ(flushed.status, Status::pass) << flushed.reason;
  // In f16 arithmetic both round to the same subnormal number.
  MadeRow half{Dtype::f16, Dtype::f16, Row(120022, round_to(Dtype::f16, -0.693)), {}, {5}};
  half.x[9] = 0, half.x[5] = round_to(Dtype::f16, -0.003);
  half.y = {round_to(Dtype::f16, softmax(half.x)[9])};
  const Record rounded = graded(half, Op::softmax_topk,
                                "select=probs; ties=smaller_index; algorithm=safe; internals=f16; exp=half; "
                                "division=ieee; normalise=recomputed; height=log2(V)+1");
  EXPECT_NE(rounded.status, Status::fail) << rounded.reason;
}

TEST(GradedRows, SelectedValuesThatContradictEachOtherFailAsThoseOfAWholeRowDo) {
  Row x = normal(131072);
  std::vector<std::int64_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; });
  const auto first = static_cast<std::size_t>(order[0]), second = static_cast<std::size_t>(order[1]);
  for (const bool equal : {true, false}) {
    x[second] = equal ? x[first] : static_cast<double>(std::nextafterf(static_cast<float>(x[first]), -9));
    const Row p = softmax(x);
    std::vector<std::int64_t> indices = {order[0], order[1]};
    if (equal) std::ranges::sort(indices);
    const auto values = [&](double off) {
      MadeRow o{Dtype::f32, Dtype::f32, x, {}, indices};
      for (std::size_t r = 0; r < 2; ++r)
        o.y.push_back(p[static_cast<std::size_t>(indices[r])] * (r == 0 ? 1 - off : 1 + off));
      return graded(o, Op::softmax_topk, "");
    };
    EXPECT_EQ(values(0).status, Status::pass);
    const Record wrong = values(1.3e-4);
    EXPECT_EQ(wrong.status, Status::fail);
    EXPECT_NE(wrong.reason.find("coherence"), std::string::npos) << wrong.reason;
    EXPECT_TRUE(equal || wrong.reason.find("monotone") != std::string::npos) << wrong.reason;
  }
}

TEST(GradedRows, APromiseOfHalfAnUlpIsHeldToTheLastDigit) {
  // The second output is 0.5000000092 ulp from the exact value. As an f32 number that is 0.5.
  const double t = round_to(Dtype::f32, 7.9038267), p = 1 / (1 + std::exp(t));
  const double unit = ulp(Dtype::f16, p), z = p / unit;
  const double wrong = z - std::floor(z) > 0.5 ? std::floor(z) : std::floor(z) + 1;
  MadeRow o{Dtype::f32, Dtype::f16, {0, -t}, {round_to(Dtype::f16, 1 / (1 + std::exp(-t))), wrong * unit}};
  EXPECT_EQ(graded(o, Op::softmax, "", 0.5).status, Status::fail);
  EXPECT_EQ(graded(o, Op::softmax, "", 0.50000002).status, Status::pass);
  o.y[1] = round_to(Dtype::f16, p);
  EXPECT_EQ(graded(o, Op::softmax, "", 0.5).status, Status::pass);
}

/// What a record says of a whole row must hold for outputs that are then stored in 16 bits.
TEST(GradedRows, AWholeRowOffByMoreThanTheResolutionIsRefused) {
  const char* const words = "algorithm=safe; division=ieee; normalise=recomputed; height=min(V,V/256+13)";
  Row two(1024, 0);
  for (std::size_t j = 0; j < two.size(); j += 2) two[j] = round_to(Dtype::f32, std::numbers::ln10 / 2);
  for (const Dtype out : {Dtype::bf16, Dtype::f16, Dtype::f32})
    for (const Row& x : {Row(1024, 0), Row(1090, 0), Row(1780, 0), two, normal(64)})
      for (const Op op : {Op::softmax, Op::log_softmax}) {
        Row p = softmax(x);
        if (op == Op::log_softmax)
          for (double& v : p) v = std::log(v);
        const auto off = [&](double by) {
          MadeRow o{Dtype::f32, out, x, p};
          for (double& y : o.y) y = round_to(out, op == Op::softmax ? y * (1 + by) : y - by);
          return graded(o, op, words);
        };
        const Record right = off(0);
        ASSERT_EQ(right.status, Status::pass) << right.reason;
        // Outputs that are made so are rounded to f32: by up to 2^-24, and logarithms below 8 by up to 2^-22.
        const double rounding = out == Dtype::f32 ? (op == Op::softmax ? 0x1p-23 : 0x1p-20) : 0;
        for (const int sign : {1, -1})
          EXPECT_EQ(off(sign * (1.01 * *right.resolution_sum + rounding)).status, Status::fail)
              << name(out) << " " << name(op) << ", V = " << x.size() << ": " << *right.resolution_sum;
      }
}

}  // namespace
}  // namespace assay

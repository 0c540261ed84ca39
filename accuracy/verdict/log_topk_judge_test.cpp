// SPDX-License-Identifier: Apache-2.0
// The log-probabilities of the k largest elements in the checker: right code passes on every family, and each
// kind of mistake is refused by the check made for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "accuracy/verdict/checker.hpp"

namespace assay {
namespace {

/// Changes the k values and columns of one row after right code wrote them.
std::function<void(float* y, int* columns)> slot_corruption;

void run_right_slots(const Problem& p, const Buffers& b, const Stream&) {
  for (std::int64_t r = 0; r < p.rows && p.k > 0; ++r) {
    const float* const x = static_cast<const float*>(b.logits) + r * p.in_pitch;
    float* const y = static_cast<float*>(b.probs) + r * p.out_pitch;
    int* const columns = static_cast<int*>(b.indices) + r * p.out_pitch;
    std::vector<int> order(static_cast<std::size_t>(p.V));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int i, int j) { return std::isnan(x[j]) ? !std::isnan(x[i]) : x[i] > x[j]; });
    float m = -INFINITY, sum = 0;
    for (std::int64_t i = 0; i < p.V; ++i) m = std::fmax(m, x[i]);
    for (std::int64_t i = 0; i < p.V; ++i) sum += std::exp(x[i] - m);
    for (int slot = 0; slot < p.k; ++slot) {
      const bool empty = slot >= p.V;
      columns[slot] = empty ? -1 : order[static_cast<std::size_t>(slot)];
      y[slot] = empty ? -INFINITY : (x[columns[slot]] - m) - std::log(sum);
    }
    if (slot_corruption) slot_corruption(y, columns);
  }
}

Record check_slots(const char* family, std::int64_t V, int k, std::function<void(float*, int*)> change = {}) {
  Variant v;
  v.variant = "fake";
  v.op = Op::log_softmax_topk;
  v.max_k = 64;
  v.claim.height = [](std::int64_t n) { return n; };
  v.claim.select = Select::logits;
  v.claim.ties = Ties::smaller_index;
  v.run = run_right_slots;
  slot_corruption = std::move(change);
  Record r = check_case(v, Case(*find_family(family), Dtype::f32, V, 2, 1), v.op, k);
  slot_corruption = {};
  return r;
}

TEST(LogTopkJudge, PassesRightCodeOnEveryFamily) {
  for (const Family& f : families())
    for (const std::int64_t V : {1, 2, 33, 1000})
      for (const int k : {1, 5, 64})
        if (applies(f, Dtype::f32, V)) {
          const Record r = check_slots(f.name, V, k);
          EXPECT_EQ(r.status, Status::pass) << f.name << " V = " << V << " k = " << k << ": " << r.reason;
        }
}

TEST(LogTopkJudge, RefusesWrongValues) {
  const auto wrong = [](const char* family, std::int64_t V, const char* by, auto change) {
    const Record r = check_slots(family, V, 5, change);
    EXPECT_EQ(r.status, Status::fail) << r.reason;
    EXPECT_NE(r.reason.find(by), std::string::npos) << r.reason;
  };
  wrong("normal_1", 100, "element", [](float* y, int*) { y[3] = NAN; });
  wrong("normal_1", 100, "element", [](float* y, int*) { y[3] *= 1 + 1e-4f; });
  wrong("normal_1", 100, "element", [](float* y, int*) { y[4] = -INFINITY; });
  // Far inside the element bound.
  wrong("normal_1", 100, "coherence", [](float* y, int*) {
    for (int i = 0; i < 8; ++i) y[3] = std::nextafterf(y[3], -INFINITY);
  });
  wrong("constant", 100, "monotone", [](float* y, int*) { y[3] = std::nextafterf(y[3], 0.0f); });
  wrong("normal_1", 3, "special", [](float* y, int*) { y[4] = 0; });
  wrong("nan", 100, "special", [](float* y, int*) { y[1] = -1; });
  // Values have no meaning beside wrong columns.
  wrong("normal_1", 100, "order", [](float*, int* columns) { std::swap(columns[0], columns[4]); });
  wrong("normal_1", 100, "indices", [](float*, int* columns) { columns[2] = columns[1]; });
}

}  // namespace
}  // namespace assay

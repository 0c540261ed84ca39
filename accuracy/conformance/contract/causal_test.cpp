// SPDX-License-Identifier: Apache-2.0
// Causal kernels. Right ones pass in every group. Each one that is wrong at the diagonal, behind it, in its
// scale or at the start of a square fails. Their plans consist of squares, and each case can be repeated by
// its own command.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "accuracy/case/case.hpp"
#include "accuracy/conformance/contract/contract.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/verdict/checker.hpp"
#include "accuracy/verdict/strangers_test.hpp"
#include "kernels/declaration.hpp"

namespace assay::conformance {
namespace {

/// The possible mistakes of a serial kernel.
struct Kernel {
  /// One past the last column of a row.
  std::function<std::int64_t(std::int64_t row, std::int64_t V)> end = [](std::int64_t row, std::int64_t V) {
    return row % V + 1;
  };
  bool maximum_of_all = false;  // the maximum is taken over all V columns
  bool scales = true;
  bool zeros = true;  // behind the diagonal
  float behind = 0;   // what is written there
};

void run(const Kernel& k, const Problem& p, const Buffers& b) {
  for (std::int64_t r = 0; r < p.rows && p.V > 0; ++r) {
    const float* const x = static_cast<const float*>(b.logits) + r * p.in_pitch;
    float* const y = static_cast<float*>(b.probs) + r * p.out_pitch;
    const std::int64_t end = std::clamp<std::int64_t>(k.end(r, p.V), 0, p.V);
    const float scale = k.scales ? p.scale : 1;
    float m = -INFINITY, sum = 0;
    for (std::int64_t j = 0; j < (k.maximum_of_all ? p.V : end); ++j) m = std::fmax(m, scale * x[j]);
    for (std::int64_t j = 0; j < end; ++j) sum += y[j] = std::exp(scale * x[j] - m);
    for (std::int64_t j = 0; j < end; ++j) y[j] /= sum;
    for (std::int64_t j = end; j < p.V && k.zeros; ++j) y[j] = k.behind;
  }
}

Variant serial(const Kernel& k, const std::string& words = "causal=zeros") {
  Variant v = strangers::here(operand::scale,
                              [k](const Problem& p, const Buffers& b, const Stream&) { run(k, p, b); });
  apply_declaration(words, v);
  return v;
}

ConformanceResult check_causal(const Variant& v, std::vector<std::string> only,
                               const Narrowing& narrow = {}) {
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = std::move(only);
  o.narrow = narrow;
  o.most_elements = 1 << 15;
  return run_conformance([&] { return v; }, o);
}
std::int64_t failed(const ConformanceResult& r) {
  return std::count_if(r.records.begin(), r.records.end(),
                       [](const Record& one) { return one.status == Status::fail; });
}
std::string first_reason(const ConformanceResult& r) {
  for (const Record& one : r.records)
    if (one.status != Status::pass) return one.reproduce + ": " + one.reason;
  return {};
}

TEST(Causal, RightKernelsPassInEveryGroup) {
  Kernel lower;
  lower.zeros = false;
  const std::pair<const char*, Variant> all[] = {
      {"zeros", serial({})},
      {"zeros, where nothing is promised", serial({}, "causal=lower")},
      {"nothing written", serial(lower, "causal=lower")}};
  for (const auto& [what, v] : all) {
    const ConformanceResult r =
        check_causal(v, {"families", "shapes", "operands", "rows", "layout", "repeat", "calls", "batch"});
    EXPECT_GT(r.executed, 600) << what;
    for (const Record& one : r.records) {
      // A kernel in this process is not tried in place, or in a way that needs a worker.
      EXPECT_TRUE(one.status == Status::pass || one.status == Status::unsupported)
          << what << ": " << one.reproduce << ": " << one.reason;
      EXPECT_TRUE(one.V > 0 && one.rows % one.V == 0) << one.reproduce;
    }
    EXPECT_GT(std::count_if(r.records.begin(), r.records.end(),
                            [](const Record& one) { return one.status == Status::pass; }),
              500)
        << what;
  }
}

TEST(Causal, WrongOnesFail) {
  Kernel below, above, maximum, scale, start, unwritten, tiny;
  below.end = [](std::int64_t row, std::int64_t V) { return row % V; };
  above.end = [](std::int64_t row, std::int64_t V) { return row % V + 2; };
  maximum.maximum_of_all = true;
  scale.scales = false;
  // Every square but the first begins with its second row.
  start.end = [](std::int64_t row, std::int64_t V) { return (row < V ? row : row + 1) % V + 1; };
  unwritten.zeros = false;
  tiny.behind = 1e-30f;
  const std::pair<const char*, Kernel> all[] = {{"the diagonal is left out", below},
                                                {"one column too many", above},
                                                {"the maximum is that of all columns", maximum},
                                                {"the scale is left out", scale},
                                                {"a square begins one row late", start}};
  for (const auto& [what, k] : all)
    for (const char* words : {"causal=zeros", "causal=lower"})
      EXPECT_GT(failed(check_causal(serial(k, words), {"operands"})), 10) << what << ", " << words;
  EXPECT_GT(failed(check_causal(serial(unwritten), {"shapes"})), 10);
  EXPECT_GT(failed(check_causal(serial(tiny), {"shapes"})), 10);
  // Every group sees a fault at the diagonal.
  for (const Kernel& k : {below, above, start}) EXPECT_GT(failed(check_causal(serial(k), {"shapes"})), 10);
  // A fault behind the diagonal is seen wherever something was put there.
  for (const Record& r : check_causal(serial(maximum), {"operands"}).records)
    if (r.V > 1 && r.setup == "huge_behind") {
      EXPECT_EQ(r.status, Status::fail) << r.reproduce;
    }
}

/// exp(x) of finite scores, times 0 or 1, so NaN stays NaN. The author declares what the kernel is made for.
TEST(Causal, FiniteKernelsHaveFiniteScoresBehindTheDiagonal) {
  const auto product = [](const Problem& p, const Buffers& b, const Stream&) {
    for (std::int64_t r = 0; r < p.rows && p.V > 0; ++r) {
      const float* const x = static_cast<const float*>(b.logits) + r * p.in_pitch;
      float* const y = static_cast<float*>(b.probs) + r * p.out_pitch;
      float m = -INFINITY, sum = 0;
      for (std::int64_t j = 0; j <= r % p.V; ++j) m = std::fmax(m, p.scale * x[j]);
      for (std::int64_t j = 0; j < p.V; ++j)
        sum += y[j] = (j <= r % p.V ? 1.0f : 0.0f) * std::exp(std::fmin(p.scale * x[j] - m, 0.0f) + 0 * x[j]);
      for (std::int64_t j = 0; j < p.V; ++j) y[j] /= sum;
    }
  };
  Variant any = serial({}), finite = serial({}, "causal=zeros; finite=yes");
  any.run = finite.run = product;
  EXPECT_GT(failed(check_causal(any, {"operands"})), 10);
  const ConformanceResult r = check_causal(finite, {"operands"});
  EXPECT_EQ(failed(r), 0) << first_reason(r);
  for (const Record& one : r.records) EXPECT_NE(one.setup, "special_behind");
  EXPECT_EQ(failed(check_causal(finite, {"families"})), 0);
}

TEST(Causal, RowsThatAreNoSquaresLieOutside) {
  const Variant v = serial({});
  const Case c("three rows", make_rows("normal_1", Dtype::f32, 7, 3, 1));
  const Record r = check_case(v, c, Op::softmax, 0);
  EXPECT_EQ(r.status, Status::unsupported);
  EXPECT_EQ(r.reason,
            "domain: 3 rows of 7: a causal problem is made of squares, its rows are a multiple of V");
  const Case squares("two squares", make_rows("normal_1", Dtype::f32, 7, 14, 1));
  EXPECT_EQ(check_case(v, squares, Op::softmax, 0).status, Status::pass);
}

TEST(Causal, TruthIsThatOfTheColumnsUpToTheDiagonal) {
  const Tensor x = make_rows("normal_3", Dtype::f32, 5, 10, 1);
  const Case whole("rows", x);
  const Case& causal = whole.causal();
  EXPECT_EQ(&causal, &causal.causal());
  for (std::int64_t r = 0; r < 10; ++r) {
    const RowTruth& t = causal.truth(r);
    ASSERT_EQ(static_cast<std::int64_t>(t.x.size()), r % 5 + 1);
    for (std::size_t j = 0; j < t.x.size(); ++j) EXPECT_EQ(t.x[j], x.at(r, static_cast<std::int64_t>(j)));
    const RowTruth& exact = causal.by_mpfr().truth(r);
    ASSERT_EQ(exact.lo.size(), t.lo.size());
    for (std::size_t j = 0; j < t.lo.size(); ++j)
      EXPECT_TRUE(t.lo[j] <= exact.hi[j] && exact.lo[j] <= t.hi[j]);
  }
  EXPECT_EQ(whole.truth(0).x.size(), 5u);
}

TEST(Causal, WholeSquares) {
  const Variant v = serial({});
  Variant plain = v;
  plain.claim.causal = Causal::no;
  for (const std::int64_t V : {1, 2, 3, 7, 64, 1000, 2048, 4096})
    for (const std::int64_t rows : {0, 1, 2, 3, 31, 257, 4097, 65536}) {
      EXPECT_EQ(whole_squares(plain, V, rows), rows);
      const std::int64_t n = whole_squares(v, V, rows);
      EXPECT_EQ(n % V, 0) << V << " " << rows;
      EXPECT_EQ(n == 0, rows == 0) << V << " " << rows;
      EXPECT_EQ(whole_squares(v, V, n), n) << "what is whole stays as it is";
    }
  EXPECT_EQ(whole_squares(v, 7, 1), 7);
  EXPECT_EQ(whole_squares(v, 7, 3), 14);
  EXPECT_EQ(whole_squares(v, 4096, 3), 4096);
}

/// The command in a record makes the same case again, whatever other cases were left out.
TEST(Causal, ARecordIsFoundAgain) {
  const Variant v = serial({});
  const ConformanceResult all = check_causal(v, {"shapes", "operands", "calls", "batch", "layout"});
  std::size_t tried = 0;
  for (std::size_t i = 0; i < all.records.size(); i += 29, ++tried) {
    const Record& r = all.records[i];
    Narrowing n;
    n.family = r.family, n.setup = r.setup.text(), n.V = r.V, n.rows = r.rows;
    const ConformanceResult again = check_causal(v, {r.group}, n);
    ASSERT_EQ(again.records.size(), 1u) << r.reproduce;
    EXPECT_EQ(again.records[0].reproduce, r.reproduce);
    EXPECT_EQ(again.records[0].status, r.status) << r.reproduce;
    EXPECT_EQ(again.records[0].max_ulp, r.max_ulp) << r.reproduce;
  }
  EXPECT_GT(tried, 20u);
}

TEST(Causal, TheReferenceVariantPasses) {
  for (const char* key : {"causal_block/f32@host", "causal_block/f16@host", "causal_block/bf16@host_fma"}) {
    const Variant* v = find_variant(key);
    ASSERT_NE(v, nullptr) << key;
    const ConformanceResult r = check_causal(*v, {"operands", "layout", "shapes", "batch", "schedules"});
    EXPECT_EQ(failed(r), 0) << key << ": " << first_reason(r);
    EXPECT_GT(r.executed, 300) << key;
  }
}

/// A limit on the length is found. No limit on the number of rows is, because it follows from the length.
TEST(Causal, LimitsOfTheLengthAreFound) {
  Variant v = serial({});
  v.run = [](const Problem& p, const Buffers& b, const Stream&) {
    if (p.V > 96 || p.V % 8 != 0) throw std::runtime_error("V must be a multiple of 8, at most 96");
    run({}, p, b);
  };
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = {"shapes", "rows"};
  o.most_elements = 1 << 15;
  const ContractedResult r =
      run_within_contract([&] { return v; }, o, "", [](const std::string&) { return ""; });
  EXPECT_EQ(r.contract.found, "V_multiple=8; max_V=96");
  EXPECT_EQ(failed(r.result), 0) << first_reason(r.result);
}

}  // namespace
}  // namespace assay::conformance

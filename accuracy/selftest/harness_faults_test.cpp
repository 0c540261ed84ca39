// SPDX-License-Identifier: Apache-2.0
// Known faults of checkers, rebuilt. Each of these judges was really used. Each is wrong about a kernel that
// is known to be bad, or known to be right. The suite's own judge is right about the same kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "accuracy/case/guarded.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/selftest/mutant_judge.hpp"
#include "accuracy/ulp.hpp"
#include "accuracy/verdict/checker.hpp"

namespace assay {
namespace {

using peer::Pair;
const Mutant& entry(std::string_view fault) {
  for (const Mutant& m : mutants())
    if (m.fault == fault && m.variant.backend != Backend::cuda) return m;
  throw std::out_of_range(std::string(fault));
}

/// Serial softmax in this process; then `spoil` changes the outputs of every row.
Variant plain(const std::function<void(float* row, std::int64_t V)>& spoil) {
  Variant v;
  v.variant = "plain";
  v.claim = {.algorithm = Algorithm::safe, .height = [](std::int64_t V) { return V; }};
  v.run = [spoil](const Problem& p, const Buffers& b, const Stream&) {
    for (std::int64_t r = 0; r < p.rows; ++r) {
      const float* x = static_cast<const float*>(b.logits) + r * p.in_pitch;
      float* y = static_cast<float*>(b.probs) + r * p.out_pitch;
      float m = -std::numeric_limits<float>::infinity(), d = 0;
      for (std::int64_t i = 0; i < p.V; ++i) m = std::fmax(m, x[i]);
      for (std::int64_t i = 0; i < p.V; ++i) d += std::exp(x[i] - m);
      for (std::int64_t i = 0; i < p.V; ++i) y[i] = std::exp(x[i] - m) / d;
      spoil(y, p.V);
      if (b.m) b.m[r] = m, b.d[r] = d;
    }
  };
  return v;
}

Case inputs(const char* family, std::int64_t V, std::int64_t rows = 3, Dtype dtype = Dtype::f32) {
  return {*find_family(family), dtype, V, rows, 1};
}
std::vector<Pair> outputs(const Variant& v, const Case& c) { return peer::outputs(v, v.op, c.logits(), 5); }
Status ours(const Variant& v, const Case& c) { return check_case(v, c, v.op, 5).status; }

// ---- verdicts ----

TEST(HarnessFault, H01LargestDifferenceByFmax) {
  const auto judge = [](const std::vector<Pair>& pairs) {
    double worst = 0;
    for (const Pair& p : pairs) worst = std::fmax(worst, std::fabs(p.got - p.want));
    return worst <= 1e-6;
  };
  const Variant nan = plain([](float* y, std::int64_t V) { std::fill(y, y + V, NAN); });
  const Case c = inputs("normal_1", 129);
  EXPECT_TRUE(judge(outputs(nan, c))) << "the faulty judge is to pass NaN";
  EXPECT_EQ(ours(nan, c), Status::fail);
}

TEST(HarnessFault, H02FailsIfTheDifferenceIsLarger) {
  const auto judge = [](const std::vector<Pair>& pairs) {
    for (const Pair& p : pairs)
      if (std::fabs(p.got - p.want) > 1e-6) return false;
    return true;
  };
  const Variant nan = plain([](float* y, std::int64_t V) { y[V / 2] = NAN; });
  const Case c = inputs("normal_1", 129);
  EXPECT_TRUE(judge(outputs(nan, c)));
  EXPECT_EQ(ours(nan, c), Status::fail);
  // The suite's own comparison fails for a NaN. A bound that is NaN judges nothing, and is counted.
  Tally t;
  EXPECT_FALSE(t.judge(Check::element, NAN, NAN, 1, 1));
  t.judge(Check::element, 0.5, 0.5, NAN, NAN);
  EXPECT_EQ(t.unbounded(), 1);
}

TEST(HarnessFault, H03UlpsOfRawBits) {
  const auto judge = [](const std::vector<Pair>& pairs) {
    for (const Pair& p : pairs) {
      const auto a = std::bit_cast<std::uint32_t>(static_cast<float>(p.got));
      const auto b = std::bit_cast<std::uint32_t>(static_cast<float>(p.want));
      const auto steps = static_cast<std::int32_t>(a - b);
      if ((steps < 0 ? static_cast<std::int32_t>(0u - static_cast<std::uint32_t>(steps)) : steps) > 64)
        return false;
    }
    return true;
  };
  const Variant negative = plain([](float* y, std::int64_t V) {
    for (std::int64_t i = 0; i < V; ++i) y[i] = -y[i];
  });
  const Case c = inputs("constant", 128);
  EXPECT_TRUE(judge(outputs(negative, c))) << "2^31 steps overflow to a negative number of them";
  EXPECT_EQ(ours(negative, c), Status::fail);
  EXPECT_TRUE(std::isinf(ulp_error(Dtype::f32, NAN, {0.5, 0.5}).hi));
}

TEST(HarnessFault, H04AnAbsoluteTolerance) {
  const auto judge = [](const std::vector<Pair>& pairs) {
    return std::all_of(pairs.begin(), pairs.end(),
                       [](const Pair& p) { return std::fabs(p.got - p.want) <= 1e-2 + 1e-5 * p.want; });
  };
  const Variant& zeros = entry("all_zero").variant;
  const Case c = inputs("normal_1", 16385);
  EXPECT_TRUE(judge(outputs(zeros, c)));
  EXPECT_EQ(ours(zeros, c), Status::fail);
}

TEST(HarnessFault, H05AThresholdThatIsZeroOrMissing) {
  // Every dtype and class has a positive, finite bound. Otherwise a right bf16 kernel would be refused, or a
  // wrong one would pass unseen.
  int seen = 0;
  for (const Variant& v : registry()) {
    if (v.op == Op::topk) continue;
    for (const std::int64_t V : {2, 1000, 128256}) {
      const Terms t = terms_of(v.claim, v.backend, v.dtype, V);
      EXPECT_GT(t.u, 0) << v.key();
      EXPECT_GT(t.D, 0) << v.key();
      EXPECT_GT(t.w_out, 0) << v.key();
      EXPECT_LT(t.u + t.D + t.u_out + t.w_out + t.eta, 0.1) << v.key();
      EXPECT_TRUE(t.u_out > 0 || v.dtype == t.arithmetic) << v.key() << " rounds its outputs for nothing";
      ++seen;
    }
  }
  EXPECT_GT(seen, 100);
}

TEST(HarnessFault, H06ANormOfTheError) {
  const auto judge = [](const std::vector<Pair>& pairs) {
    double error = 0, size = 0;
    for (const Pair& p : pairs) {
      error += (p.got - p.want) * (p.got - p.want);
      size += p.want * p.want;
    }
    return error <= 1e-6 * size;
  };
  const Variant one_wrong = plain([](float* y, std::int64_t V) { y[V / 3] = 0.25f * y[V / 3]; });
  const Case c = inputs("normal_10", 100000, 1);
  EXPECT_TRUE(judge(outputs(one_wrong, c)));
  EXPECT_EQ(ours(one_wrong, c), Status::fail);
}

TEST(HarnessFault, H17IndicesMustBeEqual) {
  const Mutant& right = entry("right_shuffled_ties");
  const Case c = inputs("ties", 129);
  const Problem p = problem_of(right.variant, right.variant.op, c.rows(), c.V(), 5, c.V());
  GuardedLaunch run(right.variant, p, c.logits(), plain_layout());
  ASSERT_TRUE(run.run().ok());
  bool equal = true;
  for (std::int64_t row = 0; row < c.rows(); ++row) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(c.V()));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return c.logits().at(row, a) > c.logits().at(row, b);
    });
    for (std::int64_t j = 0; j < 5; ++j)
      equal = equal && run.index(row, j) == order[static_cast<std::size_t>(j)];
  }
  EXPECT_FALSE(equal) << "the faulty judge is to refuse a right kernel";
  EXPECT_EQ(ours(right.variant, c), Status::pass);
}

TEST(HarnessFault, H18AnyNanFails) {
  const Variant right = plain([](float*, std::int64_t) {});
  const Case c = inputs("nan", 33, 9);
  const std::vector<Pair> got = outputs(right, c);
  EXPECT_TRUE(std::any_of(got.begin(), got.end(), [](const Pair& p) { return std::isnan(p.got); }));
  EXPECT_EQ(ours(right, c), Status::pass) << "propagating NaN is the policy";
  const Variant hides = plain([](float* y, std::int64_t V) {
    for (std::int64_t i = 0; i < V; ++i)
      if (std::isnan(y[i])) y[i] = 0;
  });
  EXPECT_EQ(ours(hides, c), Status::fail);
}

// ---- references ----

TEST(HarnessFault, H09AReferenceWithTheSameFault) {
  const Variant& wrong = entry("max_from_minus_1e4").variant;
  const Case c = inputs("far_below", 33, 6);
  const std::vector<Pair> got = outputs(wrong, c);
  bool agrees = true;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / c.V();
    double m = -1e4, s = 0;
    for (std::int64_t j = 0; j < c.V(); ++j) m = std::fmax(m, c.logits().at(row, j));
    for (std::int64_t j = 0; j < c.V(); ++j) s += std::exp(c.logits().at(row, j) - m);
    const double want = std::exp(c.logits().at(row, static_cast<std::int64_t>(i) % c.V()) - m) / s;
    agrees = agrees &&
             (std::isnan(want) ? std::isnan(got[i].got) : std::fabs(got[i].got - want) <= 1e-5 * want + 1e-9);
  }
  EXPECT_TRUE(agrees) << "reference and kernel are to share the fault";
  EXPECT_EQ(ours(wrong, c), Status::fail);
}

TEST(HarnessFault, H10AReferenceOfInputsThatWereNotStored) {
  const Tensor wide = make_input(*find_family("normal_10"), Dtype::f32, 257, 3, 1);
  Tensor stored(Dtype::f16, 3, 257);
  for (std::int64_t r = 0; r < 3; ++r)
    for (std::int64_t j = 0; j < 257; ++j) stored.set(r, j, wide.at(r, j));
  const Variant& right = *find_variant("safe_block/f16@host");
  const std::vector<Pair> got = peer::outputs(right, Op::softmax, stored, 0);
  const auto worst = [&](const Tensor& of) {
    const std::vector<double> want = peer::reference(Op::softmax, of, 0, Dtype::f64);
    double most = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      if (want[i] > min_normal(Dtype::f16))
        most = std::max(most, std::fabs(got[i].got - want[i]) / ulp(Dtype::f16, want[i]));
    return most;
  };
  EXPECT_GT(worst(wide), 1.0) << "the faulty reference is to blame a right kernel";
  EXPECT_LE(worst(stored), 0.51);
  EXPECT_EQ(ours(right, Case("stored", stored)), Status::pass);
}

// ---- cases and buffers ----

TEST(HarnessFault, H07NoCaseIsNoPass) {
  MutantInputs none(true);
  Mutant m = entry("writes_nothing");
  m.missing = [] { return std::string("nothing to run it on"); };
  const MutantVerdict v = judge_mutant(m, none);
  EXPECT_FALSE(v.ran);
  EXPECT_FALSE(v.as_expected()) << "what did not run is not as expected";
  m.kind = Kind::right;
  EXPECT_FALSE(judge_mutant(m, none).as_expected());
}

TEST(HarnessFault, H08AFilterBySubstring) {
  const std::string wanted = "safe_block/f32@host", part = "safe_block";
  EXPECT_GT(std::count_if(registry().begin(), registry().end(),
                          [&](const Variant& v) { return v.variant.find(part) != std::string::npos; }),
            std::count_if(registry().begin(), registry().end(),
                          [&](const Variant& v) { return v.variant == part; }));
  EXPECT_EQ(find_variant(part), nullptr);
  EXPECT_EQ(find_variant(wanted)->key(), wanted);
  EXPECT_EQ(find_family("normal"), nullptr);
}

TEST(HarnessFault, H11ABufferThatStillHoldsTheLastAnswer) {
  const Variant& nothing = entry("writes_nothing").variant;
  const Variant& right = *find_variant("safe_block/f32@host");
  const Case c = inputs("normal_1", 129);
  const Problem p = problem_of(right, Op::softmax, c.rows(), c.V(), 0, c.V());
  Images images;
  images.logits = Image(c.logits().bytes.size(), 0, 512);
  std::memcpy(images.logits.payload(), c.logits().bytes.data(), c.logits().bytes.size());
  images.probs = Image(c.logits().bytes.size(), 0, 512);
  ASSERT_TRUE(launch(right, p, images, {}).ok());
  ASSERT_TRUE(launch(nothing, p, images, {}).ok());
  const std::vector<double> want = peer::reference(Op::softmax, c.logits(), 0, Dtype::f32);
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(
        decode(Dtype::f32, load_bits(Dtype::f32, images.probs.payload(), static_cast<std::int64_t>(i))),
        want[i], 1e-6);
  const Record r = check_case(nothing, c, Op::softmax, 0);
  EXPECT_EQ(r.status, Status::fail);
  EXPECT_NE(r.reason.find("written"), std::string::npos) << r.reason;
}

TEST(HarnessFault, H12OneKindOfCanary) {
  // Writes NaN after the end. Bands of NaN with the same bits would not show it, nor would the finite bands
  // of another kernel. The second launch has another pattern in every byte.
  for (const std::uint32_t pattern : {0xffffffffu, 0xc5c5c5c5u}) {
    const Variant writes =
        plain([pattern](float* y, std::int64_t V) { std::memcpy(y + V, &pattern, sizeof pattern); });
    const Record r = check_case(writes, inputs("normal_1", 129, 1), Op::softmax, 0);
    EXPECT_EQ(r.status, Status::fail);
    EXPECT_NE(r.reason.find("guard"), std::string::npos) << r.reason;
  }
}

TEST(HarnessFault, H15ASeedThatGoesNowhere) {
  const auto bytes = [](std::uint64_t seed) {
    return make_input(*find_family("normal_1"), Dtype::f32, 129, 2, seed).bytes;
  };
  EXPECT_EQ(bytes(7), bytes(7));
  EXPECT_NE(bytes(7), bytes(8));
  const Variant& v = *find_variant("safe_block/f32@host");
  const Case c(*find_family("normal_1"), Dtype::f32, 129, 2, 7);
  EXPECT_NE(check_case(v, c, v.op, 0).reproduce.find("--seed 7"), std::string::npos);
}

TEST(HarnessFault, H20AShapeWithoutElements) {
  Variant writes = plain([](float*, std::int64_t) {});
  writes.run = [inner = writes.run](const Problem& p, const Buffers& b, const Stream& s) {
    inner(p, b, s);
    if (p.V == 0 && b.m)
      for (std::int64_t r = 0; r < p.rows; ++r) b.m[r] = 0, b.d[r] = 0;
  };
  const Case c = inputs("normal_1", 0);
  EXPECT_TRUE(outputs(writes, c).empty()) << "nothing to compare: a judge of values passes it";
  const Record r = check_case(writes, c, Op::softmax, 0);
  EXPECT_EQ(r.status, Status::fail);
  EXPECT_FALSE(r.checks.empty());
}

// ---- the rules of others ----

TEST(PeerRules, AreWhatTheirDocumentationSays) {
  const auto accepts = [](std::size_t rule, Dtype t, double want, double got, Op op = Op::softmax) {
    const Pair p{want, got};
    return peer::rules()[rule].accepts(t, op, 1024, {&p, 1});
  };
  ASSERT_EQ(peer::rules().size(), 3u);
  // allclose: 1e-4 + 1e-4 |want|
  EXPECT_TRUE(accepts(0, Dtype::f32, 1.0, 1.000199));
  EXPECT_FALSE(accepts(0, Dtype::f32, 1.0, 1.000201));
  EXPECT_TRUE(accepts(0, Dtype::f32, 0, 9.9e-5));
  EXPECT_FALSE(accepts(0, Dtype::f32, NAN, NAN));
  EXPECT_TRUE(accepts(0, Dtype::f32, -kInf, -kInf));
  EXPECT_FALSE(accepts(0, Dtype::f32, -kInf, 0));
  // assert_close: 1e-5 and a relative part by dtype
  EXPECT_TRUE(accepts(1, Dtype::f32, 1.0, 1.0000112));
  EXPECT_FALSE(accepts(1, Dtype::f32, 1.0, 1.0000114));
  EXPECT_TRUE(accepts(1, Dtype::bf16, 1.0, 1.016));
  EXPECT_FALSE(accepts(1, Dtype::f16, 1.0, 1.016));
  // benchdnn: ten epsilons for f32, one for a 16-bit type, and tiny values
  EXPECT_TRUE(accepts(2, Dtype::f32, 0.5, 0.5 * (1 + 1.1e-6)));
  EXPECT_FALSE(accepts(2, Dtype::f32, 0.5, 0.5 * (1 + 1.3e-6)));
  EXPECT_TRUE(accepts(2, Dtype::f32, 1e-7, 0)) << "any difference under 1.2e-7 passes";
  EXPECT_TRUE(accepts(2, Dtype::bf16, 0.5, 0.5 * (1 + 0.0078)));
  EXPECT_FALSE(accepts(2, Dtype::bf16, 0.5, 0.5 * (1 + 0.0079)));
  EXPECT_TRUE(accepts(2, Dtype::f16, NAN, NAN));
  EXPECT_FALSE(accepts(2, Dtype::f32, NAN, NAN));
  const std::vector<Pair> zeros(1024, Pair{0, 0});
  EXPECT_FALSE(peer::rules()[2].accepts(Dtype::f32, Op::softmax, 1024, zeros))
      << "too many zeros are not trusted";
}

TEST(PeerRules, BenchdnnTrustsNoSetOfFewElements) {
  // Its filling gives a softmax at least 8 outputs that are not 0, and oneDNN asks for so many. Half of the
  // probability is in fewer, so oneDNN refuses right outputs of top_p as well: "mistrusted".
  const Mutant& right = entry("top_p_none_f16");
  const std::vector<Pair> pairs =
      peer::outputs(right.variant, Op::top_p, peer::benchdnn_inputs(Dtype::f16, 16, 1024), right.expect.pick);
  ASSERT_EQ(pairs.size(), 16u * 1024);
  const auto accepts = [&](const std::vector<Pair>& of) {
    return peer::rules()[2].accepts(Dtype::f16, Op::top_p, 1024, of);
  };
  EXPECT_FALSE(accepts(pairs));
  std::vector<Pair> kept = pairs;
  std::erase_if(kept, [](const Pair& p) { return p.got == 0 && p.want == 0; });
  EXPECT_GE(kept.size(), 16u);
  EXPECT_LT(kept.size(), 16u * 8);
  EXPECT_TRUE(accepts(kept)) << "every value is right: only the zeros are not trusted";
}

}  // namespace
}  // namespace assay

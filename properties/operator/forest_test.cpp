// SPDX-License-Identifier: Apache-2.0
// Many trees at once, each judged by its own bound: every shape of up to 8 leaves, every order of up to 6,
// and thousands of random trees in one launch.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <numeric>

#include "properties/float_generators.hpp"
#include "properties/operator/on_algebra_test.hpp"
#include "properties/operator/operator_properties.hpp"
#include "properties/reduction_tree.hpp"

namespace assay {
namespace {

/// Trees over rows of leaves, evaluated in one call.
class Trees {
 public:
  explicit Trees(const Algebra& a) : algebra_(a) {}

  std::size_t add_row(const Row& row) {
    rows_.push_back({row, leaves_of(algebra_, row), exact_row(row)});
    return rows_.size() - 1;
  }
  void add(std::size_t row, std::vector<Merge> merges, std::string what) {
    forest_.add(rows_[row].leaves, merges);
    trees_.push_back({row, std::move(merges), std::move(what)});
  }

  /// Judges every tree: the maximum, d by its bound, 1 <= d <= j at every node. Returns the failure of the
  /// smallest tree, or nothing.
  std::string judge_all() {
    std::vector<Pair> values(forest_.merges.size());
    algebra_.evaluate(forest_, values.data());
    std::string failure;
    std::size_t smallest = 0, at = 0;
    for (const Entry& t : trees_) {
      const Leaves& r = rows_[t.row];
      const std::span<const Pair> nodes(values.data() + at, t.merges.size());
      at += t.merges.size();
      const TreeCounts counts = counts_of(r.leaves, t.merges);
      const Pair root = nodes.empty() ? r.leaves[0] : nodes.back();
      const TreeVerdict v = judge(algebra_, root, counts, r.exact);
      std::string wrong = d_outside_its_count(algebra_, t.merges, nodes, counts);
      if (!v.within)
        wrong = fmt::format("d = {:a} is off by {:.3g} times the tree's bound", root.d, v.utilisation);
      if (static_cast<double>(root.m) != r.exact.m)
        wrong = fmt::format("m = {:a}, not {:a}", root.m, r.exact.m);
      utilisation_ = std::max(utilisation_, v.utilisation);
      if (wrong.empty() || (!failure.empty() && smallest <= r.leaves.size())) continue;
      smallest = r.leaves.size();
      std::ostringstream row;
      showValue(r.row, row);
      failure = fmt::format("{} over {}: {}", t.what, row.str(), wrong);
    }
    return failure;
  }
  std::size_t size() const { return trees_.size(); }
  std::size_t merges() const { return forest_.merges.size(); }
  double largest_utilisation() const { return utilisation_; }

 private:
  struct Leaves {
    Row row;
    std::vector<Pair> leaves;
    ExactRow exact;
  };
  struct Entry {
    std::size_t row;
    std::vector<Merge> merges;
    std::string what;
  };
  const Algebra& algebra_;
  std::vector<Leaves> rows_;
  std::vector<Entry> trees_;
  Forest forest_;
  double utilisation_ = 0;
};

/// Eight logits of each magnitude class, in the format.
std::vector<std::pair<const char*, Row>> value_sets(Dtype t) {
  const double tiny = min_subnormal(t), large = max_finite(t);
  const double up = 2 * unit_roundoff(t);
  const std::pair<const char*, std::vector<double>> sets[] = {
      {"equal", {3, 3, 3, 3, 3, 3, 3, 3}},
      {"one ulp apart", {1, 1 + up, 1 + 2 * up, 1 + 3 * up, 1 + 4 * up, 1 + 5 * up, 1 + 6 * up, 1 + 7 * up}},
      {"around zero", {0.5, -0.0, 0.0, -0.5, 1e-3, -2e-3, 0.25, 0.125}},
      {"moderate", {0.5, -1.5, 2.75, 1, -3.25, 2.5, 0.75, -0.25}},
      {"descending", {9, 7.5, 6, 4.5, 3, 1.5, 0, -1.5}},
      {"up to 20 apart", {-9.5, 3, -2.25, 10, -10, 9, 1, 7}},
      {"90 apart", {0, -95, 95, -190, 190, 94, -96, 1}},
      {"huge", {large, -large, large / 2, large, -large / 2, 0, large / 4, 1}},
      {"subnormal", {tiny, 3 * tiny, -2 * tiny, 0, -tiny, 7 * tiny, tiny, -9 * tiny}},
      {"masked", {-kInf, 1, -kInf, -kInf, 2.5, -kInf, -0.5, -kInf}},
  };
  std::vector<std::pair<const char*, Row>> rows;
  for (const auto& [name, values] : sets) {
    Row row{Structure::uniform, {}};
    for (double x : values) row.logits.push_back({t, encode(t, x)});
    rows.push_back({name, row});
  }
  return rows;
}
Row first_of(Row row, std::size_t n) {
  row.logits.resize(n);
  return row;
}
bool has_finite(const Row& row) {
  return row.has(FloatClass::zero) || row.has(FloatClass::subnormal) || row.has(FloatClass::normal);
}

class Forests : public OnAlgebra {};
INSTANTIATE_TEST_SUITE_P(, Forests, testing::ValuesIn(select_forms()), kAlgebraName);

TEST_P(Forests, EveryTreeShapeOfUpTo8LeavesIsWithinItsBound) {
  Trees trees(algebra());
  const std::size_t catalan[] = {1, 1, 2, 5, 14, 42, 132, 429};
  for (std::size_t n = 1; n <= 8; ++n) {
    const auto shapes = all_shapes(n);
    ASSERT_EQ(shapes.size(), catalan[n - 1]);
    for (const auto& [name, set] : value_sets(algebra().format)) {
      const Row values = first_of(set, n);
      if (!has_finite(values)) continue;
      const std::size_t row = trees.add_row(values);
      for (std::size_t s = 0; s < shapes.size(); ++s)
        trees.add(row, shapes[s], fmt::format("shape {} of {} leaves, {}", s, n, name));
    }
  }
  EXPECT_EQ(trees.judge_all(), "");
  std::printf("%s: %zu trees, largest utilisation of a bound %.3f\n", name_of(algebra()).c_str(),
              trees.size(), trees.largest_utilisation());
  EXPECT_EQ(trees.size(), 626u * 10 - 1);  // all trees but the one-leaf tree of "masked", whose leaf is -inf
  EXPECT_GT(trees.largest_utilisation(), 0.05) << "the bounds are too loose to test anything";
}

/// Up to 5 leaves in every shape. 6 leaves in every shape for two of the sets, left and balanced for all
/// sets.
TEST_P(Forests, EveryOrderOfUpTo6LeavesIsWithinItsBound) {
  Trees trees(algebra());
  for (std::size_t n = 2; n <= 6; ++n) {
    const auto shapes = all_shapes(n);
    const std::vector<std::vector<Merge>> two = {merges_of({Shape::left}, n),
                                                 merges_of({Shape::balanced}, n)};
    for (const auto& [name, set] : value_sets(algebra().format)) {
      const bool every = n < 6 || std::string(name) == "moderate" || std::string(name) == "masked";
      const std::size_t row = trees.add_row(first_of(set, n));
      std::vector<std::uint32_t> order(n);
      std::iota(order.begin(), order.end(), 0u);
      do {
        for (const auto& shape : every ? shapes : two) {
          std::vector<Merge> merges = shape;
          for (Merge& m : merges) m = {order[m.left], order[m.right]};
          trees.add(row, std::move(merges), name);
        }
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
  EXPECT_EQ(trees.judge_all(), "");
  std::printf("%s: %zu trees, largest utilisation of a bound %.3f\n", name_of(algebra()).c_str(),
              trees.size(), trees.largest_utilisation());
  EXPECT_GT(trees.size(), 80000u);
}

/// Random shapes, orders and tilings over random rows.
TEST_P(Forests, ThousandsOfRandomTreesInOneLaunchAreWithinTheirBounds) {
  constexpr int kRows = 512, kTreesPerRow = 8;
  Trees trees(algebra());
  std::map<std::string, int> seen;
  const auto draw_row = rows(with_finite_maximum(), formats_exact_in(algebra().format), 400);
  const auto draw_tree = assay::trees();
  rc::Random random(7);
  for (int r = 0; r < kRows; ++r) {
    const Row row = draw_row(random.split(), 100).value();
    for (const std::string& tag : tags_of(row)) ++seen[tag];
    const std::size_t at = trees.add_row(row);
    for (int t = 0; t < kTreesPerRow; ++t) {
      const Tree tree = draw_tree(random.split(), 100).value();
      ++seen[name(tree.shape) + std::string(tree.permuted ? " permuted" : "")];
      std::ostringstream what;
      showValue(tree, what);
      trees.add(at, merges_of(tree, row.logits.size()), what.str());
    }
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(trees.judge_all(), "");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%s: %zu trees of %zu merges in one launch, %.2f s with judging, largest utilisation %.3f\n",
              name_of(algebra()).c_str(), trees.size(), trees.merges(), took.count(),
              trees.largest_utilisation());
  for (Structure s : with_finite_maximum()) EXPECT_GT(seen[name(s)], 0) << name(s) << " never appeared";
  for (int s = 0; s < kShapes; ++s)
    EXPECT_GT(seen[name(static_cast<Shape>(s)) + std::string(" permuted")], 0) << name(static_cast<Shape>(s));
  for (const char* c : {"zero", "subnormal", "normal", "-inf"})
    EXPECT_GT(seen[c], 0) << c << " never appeared";
}

// Where ⊕ stops counting, in every format and backend, serially and for the trees of kernels, and what
// happens to 1 <= d <= j there. Also why kernels use the select form: the textbook's two-exp form fails under
// FMA.

class Stagnation : public OnAlgebra {
 protected:
  std::uint32_t limit() const { return static_cast<std::uint32_t>(exact_count(algebra().format)); }
  /// d of n equal leaves, by the tree.
  float d_of_ones(Tree tree, std::size_t n) const {
    const std::vector<Pair> leaves(n, algebra().leaf(3.0f));
    return values_of(algebra(), leaves, merges_of(tree, n)).back().d;
  }
};
INSTANTIATE_TEST_SUITE_P(, Stagnation, testing::ValuesIn(select_forms()), kAlgebraName);

/// The count is exact up to 2048 in f16, 256 in bf16 and 16777216 in f32, and does not grow beyond.
TEST_P(Stagnation, SerialCountOfOnesSticksAtTwoToThePrecision) {
  const std::uint32_t p = limit();
  const double expected = algebra().format == Dtype::f16    ? 2048
                          : algebra().format == Dtype::bf16 ? 256
                                                            : 0x1p24;
  EXPECT_EQ(static_cast<double>(p), expected);
  EXPECT_EQ(algebra().serial_ones(p - 1), static_cast<float>(p - 1));
  EXPECT_EQ(algebra().serial_ones(p), static_cast<float>(p));
  EXPECT_EQ(algebra().serial_ones(p + 1), static_cast<float>(p)) << "it counts on";
  EXPECT_EQ(algebra().serial_ones(p + p / 2), static_cast<float>(p)) << "it counts on";
  std::printf("%s: a serial count of ones sticks at %u: 1.5 times as many terms still give %u\n",
              name_of(algebra()).c_str(), p, p);
}

/// Equal halves double exactly, so a balanced tree of ones never stagnates; one leaf more is lost all the
/// same. A kernel's tree (serial slices, then pairwise) stagnates only where a slice does.
TEST_P(Stagnation, TreesCountOnWhereTheSerialSumSticks) {
  Pair ones = algebra().leaf(3.0f);
  for (std::uint32_t n = 1; n < limit(); n *= 2) ones = algebra().combine(ones, ones);
  EXPECT_EQ(ones.d, static_cast<float>(limit()));
  EXPECT_EQ(algebra().combine(ones, algebra().leaf(3.0f)).d, ones.d) << "2^p + 1 is no value of the format";
  EXPECT_EQ(algebra().combine(ones, ones).d, 2 * ones.d) << "a balanced tree counts on";
  if (algebra().format == Dtype::f32) return;  // 2^24 leaves; the rest needs a multiple of that
  const std::size_t n = 4 * limit();
  const float left = d_of_ones({Shape::left}, n), right = d_of_ones({Shape::right}, n);
  const float balanced = d_of_ones({Shape::balanced}, n), strided = d_of_ones({Shape::strided}, n);
  float least = balanced, most = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const float d = d_of_ones({Shape::skewed, seed}, n);
    least = std::min(least, d);
    most = std::max(most, d);
  }
  std::printf("%s, %zu ones: left %g, right %g, balanced %g, strided %g, 20 skewed trees %g to %g\n",
              name_of(algebra()).c_str(), n, static_cast<double>(left), static_cast<double>(right),
              static_cast<double>(balanced), static_cast<double>(strided), static_cast<double>(least),
              static_cast<double>(most));
  EXPECT_EQ(left, static_cast<float>(limit()));
  EXPECT_EQ(right, static_cast<float>(limit()));
  EXPECT_EQ(balanced, static_cast<float>(n));
  EXPECT_EQ(strided, static_cast<float>(n)) << "slices of 2^p / 8 ones do not stick";
  EXPECT_LT(least, static_cast<float>(n)) << "no skewed tree stuck";
  // 64 times 2^p leaves make slices of twice 2^p: now every slice stagnates.
  if (algebra().format == Dtype::bf16) {
    EXPECT_EQ(d_of_ones({Shape::strided}, 64 * limit()), 32 * static_cast<float>(limit()));
  }
}

/// d <= j ends at 2^p: the sum of two odd halves rounds up beyond the number of terms.
TEST_P(Stagnation, RoundingMayPassTheNumberOfTermsBeyondTwoToThePrecision) {
  const float half = static_cast<float>(limit()) / 2;
  const float a = half + 1, b = half + 2;  // their sum needs p + 1 bits and is rounded up to even
  const float d = algebra().combine({3, a}, {3, b}).d;
  EXPECT_EQ(d, 2 * half + 4) << "of " << a << " + " << b << " terms";
  EXPECT_GT(d, a + static_cast<double>(b));
}

/// Number of pairs x, y among `tries` for which x ⊕ y and y ⊕ x differ, and the first of them.
int count_differing(const Algebra& a, int tries, std::string& first) {
  const auto gen = drawn_pairs(2, Carrier::counts, a.format);
  rc::Random random(1);
  std::vector<Pair> x, y, xy(static_cast<std::size_t>(tries)), yx(xy);
  for (int i = 0; i < tries; ++i) {
    const auto v = gen(random.split(), 100).value();
    x.push_back(v[0]);
    y.push_back(v[1]);
  }
  a.combine_each(x.data(), y.data(), xy.data(), x.size());
  a.combine_each(y.data(), x.data(), yx.data(), x.size());
  int differing = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!same(xy[i], yx[i]) && ++differing == 1)
      first = rc::toString(x[i]) + " and " + rc::toString(y[i]) + " give " + rc::toString(xy[i]) + " and " +
              rc::toString(yx[i]);
  return differing;
}

/// Number of warps whose lanes do not all hold the same after the butterfly. Each lane starts with the
/// partial sum of a slice.
int count_torn(const Algebra& a, int warps) {
  Draw draw{rc::Random(2)};
  const auto rounded = [&](double x) { return static_cast<float>(round_to(a.format, x)); };
  std::vector<Pair> in, out(static_cast<std::size_t>(warps) * kLanes);
  for (std::size_t i = 0; i < out.size(); ++i)
    in.push_back({rounded(draw.between(0, 2)), rounded(draw.between(1, 100))});
  a.butterfly_each(in.data(), out.data(), static_cast<std::size_t>(warps));
  int torn = 0;
  for (auto warp = out.begin(); warp != out.end(); warp += kLanes)
    torn += std::any_of(warp, warp + kLanes, [&](Pair p) { return !same(p, *warp); });
  return torn;
}

constexpr int kPairs = 20000, kWarps = 1000;

class SelectForm : public OnAlgebra {};
INSTANTIATE_TEST_SUITE_P(, SelectForm, testing::ValuesIn(select_forms()), kAlgebraName);
TEST_P(SelectForm, CommutesAndLanesAgreeWhateverIsContracted) {
  std::string first;
  EXPECT_EQ(count_differing(algebra(), kPairs, first), 0) << first;
  EXPECT_EQ(count_torn(algebra(), kWarps), 0);
}

class SymmetricForm : public OnAlgebra {};
INSTANTIATE_TEST_SUITE_P(, SymmetricForm, testing::ValuesIn(symmetric_forms()), kAlgebraName);
TEST_P(SymmetricForm, CommutesOnlyWhereNothingIsContracted) {
  std::string first;
  const int differing = count_differing(algebra(), kPairs, first);
  const int torn = count_torn(algebra(), kWarps);
  std::printf(
      "two-exp form on %s: %d of %d pairs differ from their mirror image, the lanes of %d of %d warps"
      " disagree on d%s%s\n",
      name(algebra().backend), differing, kPairs, torn, kWarps, first.empty() ? "" : "\n  ", first.c_str());
  if (algebra().backend == Backend::host) {
    EXPECT_EQ(differing, 0) << first;
    EXPECT_EQ(torn, 0);
  } else {
    EXPECT_GT(differing, kPairs / 200) << "the symmetric form was not contracted";
    EXPECT_GT(torn, kWarps / 10);
  }
}

}  // namespace
}  // namespace assay

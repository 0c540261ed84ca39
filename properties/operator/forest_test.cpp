// SPDX-License-Identifier: Apache-2.0
// Many trees at once, each judged by its own bound: every shape of up to 8 leaves, every order of up to 6,
// and thousands of random trees in one launch.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <numeric>

#include "properties/operator/on_algebra_test.hpp"
#include "properties/operator/operator_properties.hpp"

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

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "properties/reduction_tree.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

#include "accuracy/bounds/bounds.hpp"
#include "properties/float_generators.hpp"

namespace assay {
namespace {

using Slots = std::vector<std::uint32_t>;

class Builder {
 public:
  Builder(std::uint64_t seed, bool swaps) : draw_{rc::Random(seed)}, swaps_(swaps) {}

  Slots order(std::size_t n, bool permuted) {
    Slots slots(n);
    std::iota(slots.begin(), slots.end(), 0u);
    if (permuted)
      for (std::size_t i = n; i > 1; --i) std::swap(slots[i - 1], slots[draw_.below(i)]);
    return slots;
  }

  /// Merges the slots and returns the slot that holds the result.
  std::uint32_t fold(Shape shape, Slots slots) {
    const std::size_t n = slots.size();
    switch (shape) {
      case Shape::left:
        for (std::size_t i = 1; i < n; ++i) slots[0] = join(slots[0], slots[i]);
        return slots[0];
      case Shape::right:
        for (std::size_t i = n - 1; i > 0; --i) slots[i - 1] = join(slots[i - 1], slots[i]);
        return slots[0];
      case Shape::balanced:
        return split(slots, 0, n, [](std::size_t size) { return size / 2; });
      case Shape::strided: {
        Slots lanes;
        for (std::size_t lane = 0; lane < std::min<std::size_t>(kLanes, n); ++lane) {
          lanes.push_back(slots[lane]);
          for (std::size_t i = lane + kLanes; i < n; i += kLanes) lanes[lane] = join(lanes[lane], slots[i]);
        }
        return fold(Shape::balanced, lanes);
      }
      case Shape::skewed: {
        // The largest distance of a split from an end. Small distances give nearly left or nearly right
        // trees.
        const std::uint64_t reach = std::uint64_t{1} << draw_.below(11), side = draw_.below(3);
        return split(slots, 0, n, [this, reach, side](std::size_t size) {
          const std::size_t from_end = 1 + draw_.below(std::min<std::uint64_t>(reach, size - 1));
          return side == 0 || (side == 1 && draw_.one_in(2)) ? from_end : size - from_end;
        });
      }
      case Shape::scattered:
        while (slots.size() > 1) {
          const std::size_t j = 1 + draw_.below(slots.size() - 1), i = draw_.below(j);
          slots[i] = join(slots[i], slots[j]);
          slots[j] = slots.back();
          slots.pop_back();
        }
        return slots[0];
      case Shape::tiled: {
        Slots results;
        for (std::size_t begin = 0; begin < n;) {
          const std::size_t size = 1 + draw_.below(std::min<std::size_t>(n - begin, 1 + n / 4));
          results.push_back(fold(plain_shape(), {slots.begin() + static_cast<std::ptrdiff_t>(begin),
                                                 slots.begin() + static_cast<std::ptrdiff_t>(begin + size)}));
          begin += size;
        }
        return fold(plain_shape(), results);
      }
    }
    return slots[0];
  }

  std::vector<Merge> merges;

 private:
  Shape plain_shape() { return static_cast<Shape>(draw_.below(static_cast<int>(Shape::tiled))); }

  std::uint32_t join(std::uint32_t a, std::uint32_t b) {
    if (swaps_ && draw_.one_in(2)) std::swap(a, b);
    merges.push_back({a, b});
    return a;
  }
  template <class Cut>
  std::uint32_t split(const Slots& slots, std::size_t begin, std::size_t end, const Cut& cut) {
    if (end - begin == 1) return slots[begin];
    const std::size_t middle = begin + cut(end - begin);
    const std::uint32_t left = split(slots, begin, middle, cut);
    return join(left, split(slots, middle, end, cut));
  }

  Draw draw_;
  bool swaps_;
};

}  // namespace

const char* name(Shape s) {
  constexpr const char* kNames[kShapes] = {"left",   "right",     "balanced", "strided",
                                           "skewed", "scattered", "tiled"};
  return kNames[static_cast<int>(s)];
}

void showValue(const Tree& t, std::ostream& os) {
  os << name(t.shape) << " tree" << (t.permuted ? ", leaves permuted" : "") << ", seed " << t.seed;
}

rc::Gen<Tree> trees(std::vector<Shape> shapes) {
  return [shapes = std::move(shapes)](const rc::Random& random, int) {
    Draw draw{random};
    const Tree tree{shapes[draw.below(shapes.size())], 1 + draw.below(1u << 16), draw.one_in(2)};
    return rc::shrinkable::shrinkRecur(tree, [](Tree t) {
      std::vector<Tree> simpler;
      if (t.shape != Shape::left) simpler.push_back({Shape::left, t.seed, t.permuted});
      if (t.permuted) simpler.push_back({t.shape, t.seed, false});
      return rc::seq::fromContainer(simpler);
    });
  };
}

rc::Gen<Tree> trees() {
  std::vector<Shape> all;
  for (int s = 0; s < kShapes; ++s) all.push_back(static_cast<Shape>(s));
  return trees(all);
}

std::vector<Merge> merges_of(Tree tree, std::size_t n) {
  Builder builder(tree.seed, tree.permuted);
  builder.fold(tree.shape, builder.order(n, tree.permuted));
  return builder.merges;
}

std::vector<std::vector<Merge>> all_shapes(std::size_t n) {
  if (n <= 1) return {{}};
  std::vector<std::vector<Merge>> all;
  for (std::uint32_t cut = 1; cut < n; ++cut)
    for (const auto& left : all_shapes(cut))
      for (const auto& right : all_shapes(n - cut)) {
        std::vector<Merge> tree = left;
        for (Merge m : right) tree.push_back({m.left + cut, m.right + cut});
        tree.push_back({0, cut});
        all.push_back(std::move(tree));
      }
  return all;
}

TreeCounts counts_of(std::span<const Pair> leaves, std::span<const Merge> merges) {
  const std::size_t n = leaves.size();
  TreeCounts c{std::vector<int>(n, 0), std::vector<int>(n, 0), {}, {}};
  std::vector<float> maximum(n);
  std::vector<double> terms(n);
  std::vector<int> height(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    maximum[i] = leaves[i].m;
    terms[i] = static_cast<double>(leaves[i].d);
  }
  struct Step {
    bool adds, left_rescaled, right_rescaled;
  };
  std::vector<Step> steps;
  for (const Merge& m : merges) {
    const float a = maximum[m.left], b = maximum[m.right];
    const bool adds = std::isfinite(a) && std::isfinite(b);
    steps.push_back({adds, adds && a < b, adds && b < a});
    maximum[m.left] = std::max(a, b);
    c.terms.push_back(terms[m.left] += terms[m.right]);
    c.height.push_back(height[m.left] = std::max(height[m.left], height[m.right]) + adds);
  }
  // From the root down: both sides inherit the counts above them.
  for (std::size_t k = merges.size(); k-- > 0;) {
    const auto [l, r] = merges[k];
    c.additions[r] = c.additions[l] += steps[k].adds;
    c.rescales[r] = c.rescales[l] + steps[k].right_rescaled;
    c.rescales[l] += steps[k].left_rescaled;
  }
  return c;
}

std::vector<Pair> values_of(const Algebra& algebra, const std::vector<Pair>& leaves,
                            const std::vector<Merge>& merges) {
  if (merges.empty()) return {leaves[0]};
  Forest one;
  one.add(leaves, merges);
  std::vector<Pair> values(merges.size());
  algebra.evaluate(one, values.data());
  return values;
}

double log_error_bound(const Algebra& algebra, const TreeCounts& counts, const ExactSum& terms) {
  const Internals internals = algebra.format == Dtype::f16    ? Internals::f16
                              : algebra.format == Dtype::bf16 ? Internals::bf16
                                                              : Internals::f32;
  const Claim claim{.algorithm = Algorithm::online, .exp = algebra.exp, .internals = internals};
  const Terms t =
      terms_of(claim, algebra.backend, algebra.format, static_cast<std::int64_t>(terms.distance.size()));
  const double rescale = t.exp_constant + lam(t.u);  // one rounded exp, one rounded product
  double excess = 0;  // sum of shares (e^beta - 1), where beta is the log-error of a leaf
  double weights = 0, growth = 0;
  int most = 0;
  for (std::size_t i = 0; i < terms.distance.size(); ++i) {
    if (!std::isfinite(terms.distance[i])) continue;
    // The maxima above a leaf only grow, so the lengths of its subtractions add up to |distance|. Each
    // subtraction is off by at most u times its length. If exp has a slope, the exp is off by the slope times
    // the rounded length.
    const double length = std::fabs(terms.distance[i]);
    const double roundings = counts.rescales[i] * rescale + counts.additions[i] * lam(t.u);
    const double beta = length * (t.u + t.exp_slope * (1 + t.u)) + roundings;
    excess += beta < 1 ? terms.weight[i] * std::exp(-length) / terms.sum * std::expm1(beta)
                       : terms.weight[i] * std::exp(beta - length) / terms.sum;
    weights += terms.weight[i];
    growth = std::max(growth, roundings);
    most = std::max(most, counts.rescales[i]);
  }
  const double relative = std::log1p(excess);
  // Below the normal range each exp and each product is off by at most eta per unit of computed weight
  // (e^growth). The loss is relative to a sum that may be e^-relative of the exact one.
  const double absolute = 2 * t.eta * weights * most * std::exp(2 * growth) / terms.sum;
  constexpr double kOwnRounding = 0x1p-46;  // roundings in double, here and in the caller's logarithm
  return (relative + lam(absolute * std::exp(relative))) * (1 + 0x1p-40) + kOwnRounding;
}

}  // namespace assay

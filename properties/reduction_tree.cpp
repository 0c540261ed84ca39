#include "properties/reduction_tree.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

#include "accuracy/bounds.hpp"
#include "properties/float_generators.hpp"

namespace assay {
namespace {

struct Node {
  Pair value;
  std::vector<int> leaves;  // those that are not the identity
};

}  // namespace

void showValue(const Tree& t, std::ostream& os) {
  constexpr const char* kNames[] = {"serial", "pairwise", "arbitrary"};
  os << kNames[static_cast<int>(t.shape)] << " tree, seed " << t.seed;
}

rc::Gen<Tree> trees() {
  return [](const rc::Random& random, int) {
    Draw draw{random};
    const Tree tree{static_cast<Shape>(draw.below(3)), 1 + draw.below(1u << 16)};
    return rc::shrinkable::shrinkRecur(tree, [](Tree t) {
      std::vector<Tree> simpler;
      if (t.shape != Shape::serial) simpler.push_back({Shape::serial, t.seed});
      if (t.seed != 0) simpler.push_back({t.shape, 0});
      return rc::seq::fromContainer(simpler);
    });
  };
}

Reduction reduce(const Algebra& algebra, const std::vector<Pair>& leaves, Tree tree, const Visit& visit) {
  const std::size_t n = leaves.size();
  Reduction r{{}, std::vector<int>(n, 0), std::vector<int>(n, 0)};
  std::vector<Node> pool(n);
  for (std::size_t i = 0; i < n; ++i) {
    pool[i].value = leaves[i];
    if (!is_identity(leaves[i])) pool[i].leaves = {static_cast<int>(i)};
  }
  Draw draw{rc::Random(tree.seed)};
  if (tree.seed != 0)
    for (std::size_t i = n; i > 1; --i) std::swap(pool[i - 1], pool[draw.below(i)]);

  /// Merges node j into node i.
  const auto merge = [&](std::size_t i, std::size_t j) {
    Node &a = pool[i], &b = pool[j];
    if (!is_identity(a.value) && !is_identity(b.value)) {
      for (const Node* side : {&a, &b})
        for (int leaf : side->leaves) ++r.additions[static_cast<std::size_t>(leaf)];
      if (a.value.m != b.value.m)
        for (int leaf : (a.value.m < b.value.m ? a : b).leaves) ++r.rescales[static_cast<std::size_t>(leaf)];
    }
    const bool swapped = tree.seed != 0 && draw.one_in(2);
    a.value = swapped ? algebra.combine(b.value, a.value) : algebra.combine(a.value, b.value);
    a.leaves.insert(a.leaves.end(), b.leaves.begin(), b.leaves.end());
    if (visit) visit(a.value, static_cast<int>(a.leaves.size()));
  };
  switch (tree.shape) {
    case Shape::serial:
      for (std::size_t i = 1; i < n; ++i) merge(0, i);
      break;
    case Shape::pairwise:
      for (std::size_t step = 1; step < n; step *= 2)
        for (std::size_t i = 0; i + step < n; i += 2 * step) merge(i, i + step);
      break;
    case Shape::arbitrary:
      while (pool.size() > 1) {
        const std::size_t j = 1 + draw.below(pool.size() - 1);
        merge(draw.below(j), j);
        std::swap(pool[j], pool.back());
        pool.pop_back();
      }
  }
  r.value = pool[0].value;
  return r;
}

double log_error_bound(const Algebra& algebra, const Reduction& reduction,
                       const std::vector<double>& distance, const std::vector<double>& weight, double exact) {
  const Claim claim{.algorithm = Algorithm::online, .exp = algebra.exp};
  const Terms t = terms_of(claim, algebra.backend, Dtype::f32, static_cast<std::int64_t>(distance.size()));
  const double rescale = t.exp_constant + lam(t.u);  // one rounded exp, one rounded product
  double excess = 0;  // sum of shares (e^beta - 1), beta the log-error of a leaf
  double weights = 0;
  int most = 0;
  for (std::size_t i = 0; i < distance.size(); ++i) {
    if (!std::isfinite(distance[i])) continue;
    // The maxima above a leaf only grow, so its subtractions are of lengths that add up to |distance|; each
    // is off by at most u of its length; so, where it has a slope, is the exp, by the rounded length.
    const double length = std::fabs(distance[i]);
    const double beta = length * (t.u + t.exp_slope * (1 + t.u)) + reduction.rescales[i] * rescale +
                        reduction.additions[i] * lam(t.u);
    excess += beta < 1 ? weight[i] * std::exp(-length) / exact * std::expm1(beta)
                       : weight[i] * std::exp(beta - length) / exact;
    weights += weight[i];
    most = std::max(most, reduction.rescales[i]);
  }
  // Below the normal range an exp and a product are each off by at most eta for every unit of weight.
  const double underflow = lam(2 * t.eta * weights * (1 + most) / exact);
  constexpr double kOwnRounding = 0x1p-46;  // of this function and of its caller's logarithm, in double
  return (std::log1p(excess) + underflow) * (1 + 0x1p-40) + kOwnRounding;
}

}  // namespace assay

// Reduction trees over ⊕: any shape, any order of the leaves, with what the error bound needs of the tree
// counted on the way.
#pragma once

#include <rapidcheck.h>

#include <functional>
#include <iosfwd>
#include <vector>

#include "properties/algebra.hpp"

namespace assay {

enum class Shape { serial, pairwise, arbitrary };

/// The shape, and the seed of what is random about it: which nodes meet, and on which side.
struct Tree {
  Shape shape = Shape::serial;
  std::uint64_t seed = 0;
};
void showValue(const Tree& t, std::ostream& os);
/// Shrinks to the serial tree from left to right.
rc::Gen<Tree> trees();

struct Reduction {
  Pair value;
  std::vector<int> additions;  // of every leaf: merges above it, those with the identity not counted
  std::vector<int> rescales;   // of every leaf: merges in which it was on the side with the smaller maximum
};

/// Called at every inner node with its value and its number of leaves that are not the identity.
using Visit = std::function<void(Pair, int)>;

/// Merges the leaves; there is at least one.
Reduction reduce(const Algebra& algebra, const std::vector<Pair>& leaves, Tree tree, const Visit& visit = {});

/// Bound on |ln(computed d / exact d)|. `distance` is m_i - m of every leaf and `weight` its exact d; the
/// leaves sum to the exact d.
double log_error_bound(const Algebra& algebra, const Reduction& reduction,
                       const std::vector<double>& distance, const std::vector<double>& weight, double exact);

}  // namespace assay

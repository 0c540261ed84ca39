// SPDX-License-Identifier: Apache-2.0
// Reduction trees over ⊕: any shape, any order of the leaves, any split into tiles, each with its own error
// bound.
#pragma once

#include <rapidcheck.h>

#include <iosfwd>
#include <span>
#include <vector>

#include "properties/algebra.hpp"

namespace assay {

enum class Shape {
  left,       // ((0 1) 2) 3: serial sum
  right,      // 0 (1 (2 3))
  balanced,   // halves, recursively
  strided,    // as in a kernel: 32 serial slices, then pairwise
  skewed,     // split at random places, recursively: everything between left, balanced and right
  scattered,  // merges any two that are left
  tiled,      // random tiles, each a tree of its own shape, merged by another tree
};
inline constexpr int kShapes = 7;
const char* name(Shape s);

/// A tree, without its leaves. `seed` determines everything random in it.
struct Tree {
  Shape shape = Shape::left;
  std::uint64_t seed = 1;
  bool permuted = false;  // random order of leaves, random left and right sides
};
void showValue(const Tree& t, std::ostream& os);
/// Shrinks to the serial tree, merged from left to right.
rc::Gen<Tree> trees(std::vector<Shape> shapes);
rc::Gen<Tree> trees();  // of all shapes

/// The merges of the tree over n leaves. The result is in the slot of the last merge's left side (slot 0 if n
/// = 1).
std::vector<Merge> merges_of(Tree tree, std::size_t n);
/// Every tree shape over n leaves in order: Catalan(n - 1) shapes.
std::vector<std::vector<Merge>> all_shapes(std::size_t n);

/// What the bound needs to know of a tree. It depends on the maxima of the leaves alone.
struct TreeCounts {
  std::vector<int> additions;  // per leaf: merges above it, without those with the identity
  std::vector<int> rescales;   // per leaf: merges in which its side had the smaller maximum
  std::vector<double> terms;   // per merge: sum of d over the leaves below it
  std::vector<int> height;     // per merge: additions on the longest path from a leaf to it
};
TreeCounts counts_of(std::span<const Pair> leaves, std::span<const Merge> merges);

/// Evaluates one tree: the result of every merge. For a single leaf, the leaf itself.
std::vector<Pair> values_of(const Algebra& algebra, const std::vector<Pair>& leaves,
                            const std::vector<Merge>& merges);

/// The exact sum of the leaves; it does not depend on the tree.
struct ExactSum {
  std::vector<double> distance;  // m_i - m
  std::vector<double> weight;    // d_i, exact
  double sum = 0;                // sum of weight e^distance
};

/// Bound on |ln(computed d / exact d)| for the tree that was counted.
double log_error_bound(const Algebra& algebra, const TreeCounts& counts, const ExactSum& terms);

}  // namespace assay

// Reduction trees over ⊕: any shape, any order of the leaves, any split into tiles, with the error bound of
// that very tree.
#pragma once

#include <rapidcheck.h>

#include <iosfwd>
#include <span>
#include <vector>

#include "properties/algebra.hpp"

namespace assay {

enum class Shape {
  left,       // ((0 1) 2) 3: the serial sum
  right,      // 0 (1 (2 3))
  balanced,   // halves of halves
  strided,    // what a kernel does: 32 serial slices, then pairwise
  skewed,     // split anywhere, again and again: all between left, balanced and right
  scattered,  // any two that are left meet
  tiled,      // random tiles, each with a shape of its own, merged by another
};
inline constexpr int kShapes = 7;
const char* name(Shape s);

/// A tree without its leaves: `seed` draws what is random about it.
struct Tree {
  Shape shape = Shape::left;
  std::uint64_t seed = 1;
  bool permuted = false;  // leaves in random order, random sides
};
void showValue(const Tree& t, std::ostream& os);
/// Shrinks to the serial tree from left to right.
rc::Gen<Tree> trees(std::vector<Shape> shapes);
rc::Gen<Tree> trees();  // of any shape

/// The tree over n leaves. Its root ends in the slot of the last merge's left side (slot 0 for one leaf).
std::vector<Merge> merges_of(Tree tree, std::size_t n);
/// Every tree shape over n leaves in their order: Catalan(n - 1) of them.
std::vector<std::vector<Merge>> all_shapes(std::size_t n);

/// What the bound needs of a tree. It follows from the leaves' maxima alone.
struct Counts {
  std::vector<int> additions;  // of every leaf: merges above it, those with the identity not counted
  std::vector<int> rescales;   // of every leaf: merges in which it was on the side with the smaller maximum
  std::vector<double> terms;   // of every merge: the sum of d over the leaves below it
  std::vector<int> height;     // of every merge: additions on the longest path from a leaf to it
};
Counts counts_of(std::span<const Pair> leaves, std::span<const Merge> merges);

/// Evaluates one tree: the value of every merge; that of the leaf itself where there is but one.
std::vector<Pair> values_of(const Algebra& algebra, const std::vector<Pair>& leaves,
                            const std::vector<Merge>& merges);

/// The leaves of a tree with their exact sum, apart from any tree.
struct ExactSum {
  std::vector<double> distance;  // m_i - m
  std::vector<double> weight;    // d_i, exact
  double sum = 0;                // of weight e^distance
};

/// Bound on |ln(computed d / exact d)| of the tree that was counted.
double log_error_bound(const Algebra& algebra, const Counts& counts, const ExactSum& terms);

}  // namespace assay

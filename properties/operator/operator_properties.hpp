// SPDX-License-Identifier: Apache-2.0
// What ⊕ promises of whole reductions. Any shape, order and tiling of a row stays within the bound of that
// very tree, and 1 <= d <= j at every node, where j is the number of its leaves.
#pragma once

#include <span>
#include <vector>

#include "properties/float_generators.hpp"
#include "properties/property.hpp"
#include "properties/reduction_tree.hpp"

namespace assay {

const std::vector<Property>& tree_properties();

/// The formats whose logits are exact in `arithmetic`: all three for f32, only itself for a 16-bit format.
std::vector<Dtype> formats_exact_in(Dtype arithmetic);
std::vector<Structure> with_finite_maximum();
std::vector<Pair> leaves_of(const Algebra& a, const Row& row);

/// A row with a finite maximum and its exact sum, by the oracle.
struct ExactRow {
  double m = 0;
  ExactSum lo, hi;  // the two ends of the sum's enclosure
};
ExactRow exact_row(const Row& row);

/// Error of a computed d as a share of its tree's bound: |ln(d / exact)| / bound, and whether it is at most
/// 1. For NaN it is not.
struct TreeVerdict {
  double utilisation = 0;
  bool within = false;
};
TreeVerdict judge(const Algebra& a, Pair computed, const TreeCounts& counts, const ExactRow& exact);

/// Checks 1 <= d <= j at every node of the tree: exactly while j <= 2^p, and up to j (1 + u)^h above. A node
/// over no finite leaf must be the identity. Empty, or what is wrong and where.
std::string d_outside_its_count(const Algebra& a, std::span<const Merge> merges, std::span<const Pair> values,
                                const TreeCounts& counts);

/// What ⊕ promises, as properties of an algebra. The kernels' own algebra must have them all; each mutant in
/// normalizer_properties_test.cpp must lack one.
const std::vector<Property>& normalizer_properties();

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// New genomes, mutations and crossovers. All random numbers come from one generator, so a search is a
// function of its seed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fuzz/genome.hpp"
#include "reference/hash/draws.hpp"

namespace assay::fuzz {

class MutationRandom : public Draws {
 public:
  using Draws::Draws;
  bool one_in(std::int64_t n) { return below(n) == 0; }
  template <class T>
  T pick(std::span<const T> list) {
    return list[below(list.size())];
  }
};

/// The limits of what a search may draw.
struct Domain {
  std::vector<std::int64_t> sizes;  // V is one of these; empty: any V up to `longest`
  std::int64_t longest = 1 << 17;   // most are much shorter
  std::int64_t elements = 1 << 14;  // rows x V of one genome is at most this, or it has one row
  std::int64_t most_rows = 16;
  std::int64_t V_multiple = 1;  // V is a multiple of this: the kernel's declared domain
  std::int64_t shortest = 0, fewest_rows = 1;
  bool dense = false;             // rows have no gap, and the first is aligned
  bool usual_launch = false;      // the backend's own grid and schedule
  bool finite = false;            // no infinity and no NaN
  bool k_up_to_V = false;         // k is at most V, so no slot of a top-k is empty
  int max_k = 0;                  // largest k of a top-k; 0: k is not changed
  std::vector<double> constants;  // that the kernel compares something with: tried as single logits
  /// The format whose single steps mutations take: they change the logits one by one, mostly. Unset: genes.
  std::optional<Dtype> steps_of = {};
};

/// A new genome like the input families: one base, at most two stretches.
Genome fresh(MutationRandom& random, const Domain& domain);
/// Changes one to four genes.
Genome mutate(Genome g, MutationRandom& random, const Domain& domain);
/// Crosses two genomes: logits of one; shape and launch, or stretches, of the other.
Genome cross(const Genome& a, const Genome& b, MutationRandom& random, const Domain& domain);

}  // namespace assay::fuzz

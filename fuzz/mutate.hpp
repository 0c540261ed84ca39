// Fresh genomes, mutations and crossovers. Everything drawn comes from one generator, so that a search is a
// function of its seed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fuzz/genome.hpp"

namespace assay::fuzz {

class MutationRandom {
 public:
  explicit MutationRandom(std::uint64_t state) : state_(state) {}
  std::uint64_t next();
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  template <class T>
  T pick(std::span<const T> list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
  }

 private:
  std::uint64_t state_;
};

/// What a search may draw.
struct Domain {
  std::vector<std::int64_t> sizes;  // V is one of these; empty: any up to longest
  std::int64_t longest = 1 << 17;   // but most are short
  std::int64_t elements = 1 << 14;  // rows x V of one genome, at most (and one row)
  std::int64_t most_rows = 16;
  std::int64_t V_multiple = 1;  // of the kernel's declared domain
  std::int64_t shortest = 0, fewest_rows = 1;
  bool dense = false;      // rows have no gap, and start aligned
  bool finite = false;     // no specials
  bool k_up_to_V = false;  // no slot of a top-k is left empty
  int max_k = 0;           // of top-k; 0: k stays as it is
};

/// A genome like the input families: one base, at most two stretches.
Genome fresh(MutationRandom& random, const Domain& domain);
/// One to four changes to genes.
Genome mutate(Genome g, MutationRandom& random, const Domain& domain);
/// Logits from one, shape and launch or stretches from the other.
Genome cross(const Genome& a, const Genome& b, MutationRandom& random, const Domain& domain);

}  // namespace assay::fuzz

// The fast oracle tier on one row: the same enclosures as MPFR's, some 2^-50 wide instead of a neighbouring
// double, in fp64 at the speed of memory. FAST_TIER.md proves that they contain the exact values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/oracle/fast_exp.hpp"
#include "reference/oracle/oracle.hpp"

namespace assay {

namespace fast {

/// Exact p_j lies within this relative distance of e_j fl(1 / fl(s)), where that is kSmallest or more.
inline constexpr double kProbError = 0x1p-50;
/// Below, a probability is enclosed by [0, 2 kSmallest]. Far under every format but f64.
inline constexpr double kSmallest = 0x1p-960;
/// Most terms of a row. The error of the double-double sum is proved up to here.
inline constexpr std::int64_t kMostTerms = std::int64_t{1} << 26;

struct RowSums {
  double hi = 0, lo = 0;  // sum of e without the first maximum's 1, in double-double
  double weighted = 0;    // sum of e |d|
  std::int64_t far = 0;   // finite terms below kExpLowest, each in [0, 2^-1021], not in the sum
};

/// e[i] = exp(x[i] - m), 0 where x[i] - m < kExpLowest; and their sums without position `skip`, which is one
/// of the maximum.
RowSums exps(const double* x, std::size_t n, double m, std::size_t skip, double* e);

/// [lo, hi] of every probability, from e and s.
void probabilities(const double* e, std::size_t n, double s, double* lo, double* hi);

}  // namespace fast

/// Fills s, lse, lse_rounded, weighted_distance, lo, hi and rounded of a row with a finite maximum, whose x,
/// d, m, order and finite are filled. Returns false where a rounding to `out` is undecided: then MPFR must
/// decide it. The row must have two distinct finite logits; neither dtype may be f64.
bool solve_row_fast(RowTruth& row, Dtype out);

/// Narrows the enclosure of p_j, finite and not masked, by one MPFR exp over the s that the row has.
void refine(RowTruth& row, std::size_t j);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The fast oracle tier on one row, in fp64 and at the speed of memory. Its enclosures are some 2^-50 wide,
// while those of MPFR are neighbouring doubles. FAST_TIER.md proves that they contain the exact values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/oracle/fast_exp.hpp"
#include "reference/oracle/oracle.hpp"

namespace assay {

namespace fast {

/// The exact p_j is within this relative distance of e_j fl(1 / fl(s)), if that is kSmallest or more.
inline constexpr double kProbError = 0x1p-50;
/// A probability below this is enclosed by [0, 2 kSmallest]. Far below the range of every format but f64.
inline constexpr double kSmallest = 0x1p-960;
/// Largest number of terms in a row. The error of the double-double sum is proved up to here.
inline constexpr std::int64_t kMostTerms = std::int64_t{1} << 26;

struct RowSums {
  double hi = 0, lo = 0;  // sum of e without the 1 of the first maximum, in double-double
  double weighted = 0;    // sum of e |d|
  std::int64_t far = 0;   // number of finite terms below kExpLowest, each in [0, 2^-1021] and not in the sum
};

/// e[i] = exp(x[i] - m), or 0 if x[i] - m < kExpLowest. Returns their sums without position `skip`, which
/// holds the maximum.
RowSums exps(const double* x, std::size_t n, double m, std::size_t skip, double* e);

/// The enclosure [lo, hi] of every probability, from e and s.
void probabilities(const double* e, std::size_t n, double s, double* lo, double* hi);

}  // namespace fast

/// Fills s, lse, lse_rounded, weighted_distance, lo, hi and rounded of a row with a finite maximum. x, d, m,
/// order and finite are already filled. Returns false if a rounding to `out` is undecided; MPFR must then
/// decide it. The row must have two distinct finite logits, and neither dtype may be f64.
bool solve_row_fast(RowTruth& row, Dtype out);

/// Narrows the enclosure of p_j (finite, not masked) by one MPFR exp, with the row's s as it is.
void refine(RowTruth& row, std::size_t j);

}  // namespace assay

namespace assay::fast {

/// The loops of fast_row.cpp. fast_row_kernel.cpp is compiled twice: for any x86-64, and for AVX2 with FMA.
/// The results are the same bit for bit; only the speed differs.
struct RowKernel {
  RowSums (*exps)(const double* x, std::size_t n, double m, std::size_t skip, double* e);
  void (*probabilities)(const double* e, std::size_t n, double s, double* lo, double* hi);
};

namespace generic {
extern const RowKernel kernel;
}
namespace avx2 {
extern const RowKernel kernel;
}

/// The fastest version that this CPU can run.
const RowKernel& row_kernel();

}  // namespace assay::fast

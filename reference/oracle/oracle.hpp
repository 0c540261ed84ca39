// SPDX-License-Identifier: Apache-2.0
// The oracle: enclosures proved to contain the exact softmax, lse, normalizer (m, d) and top-k. It takes the
// inputs as stored. There are two tiers. MPFR raises its precision until the correctly rounded result is
// decided (Ziv's strategy); what is still undecided at 4096 bits is counted. The fast tier (fast_row.hpp)
// uses fp64 alone where that decides the same.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/tensor.hpp"

namespace assay {

/// A closed interval that contains the exact value. Endpoints are doubles rounded outward.
struct Enclosure {
  double lo = 0;
  double hi = 0;
  constexpr bool contains(double x) const { return lo <= x && x <= hi; }
  constexpr bool overlaps(const Enclosure& o) const { return lo <= o.hi && o.lo <= hi; }
};

/// The kind of a row, by its special values. Exactly one applies; nan takes precedence over pos_inf.
enum class RowKind {
  empty,        // V = 0
  finite,       // every logit finite
  masked,       // some -inf, a finite maximum
  all_neg_inf,  // nothing but -inf
  pos_inf,      // at least one +inf, no NaN
  nan,          // at least one NaN
};

/// Truth of one row. Vectors have V entries. lo, hi, rounded, d and larger are filled only for finite and
/// masked rows.
struct RowTruth {
  RowKind kind = RowKind::empty;
  std::int64_t finite = 0;             // number of finite logits
  std::int64_t argmax = -1;            // first position of the maximum (finite, masked)
  double m = 0;                        // exact maximum
  Enclosure s;                         // sum of e^(x_i - m)
  Enclosure lse;                       // m + ln s
  double weighted_distance = 0;        // sum p_i |x_i - m|, where -inf adds 0; rounded, not an enclosure
  std::vector<double> x;               // the logits, exact
  std::vector<double> d;               // x_i - m, correctly rounded to double (-inf for -inf)
  std::vector<double> lo, hi;          // enclosure of p_i; {0, 0} for -inf
  std::vector<std::uint64_t> rounded;  // bits of p_i correctly rounded to the output dtype
  std::vector<std::int32_t> order;   // positions by descending logit, equal logits by smaller index, NaN last
  std::vector<std::int32_t> larger;  // number of distinct finite logits larger than x_i (0 for the maximum)
  /// By how much the kernel's logits may differ from x, if the kernel computes them from operands. Empty: its
  /// logits are x.
  std::vector<double> slack;
  /// The stored logits, where equal ones are equal x in any kernel although there is slack; else empty.
  std::vector<double> stored;
  std::uint64_t lse_rounded = 0;  // bits of lse correctly rounded to the output dtype
  std::int64_t undecided = 0;     // number of roundings that 4096 bits could not decide
  int bits = 0;                   // largest precision used; 53 is the fast tier
};

/// fast: fp64 enclosures some 2^-50 wide, and MPFR for the rows where they leave a rounding undecided. mpfr:
/// MPFR for all rows, enclosures of neighbouring doubles. Both contain the exact value. f64 always uses MPFR.
enum class Tier { fast, mpfr };

struct OracleOptions {
  Tier tier = Tier::mpfr;
  int first_precision = 128;
  int last_precision = 4096;
  bool selection_only = false;  // fill `order` only (op topk): no exp is computed
};

/// Truth of one row of V logits stored as `in`. Its results are rounded to `out`.
RowTruth row_truth(Dtype in, const void* logits, std::int64_t V, Dtype out,
                   const OracleOptions& options = {});

/// Truth of every row of a tensor. The output dtype is the input dtype.
std::vector<RowTruth> truth(const Tensor& logits, const OracleOptions& options = {});

/// An independent computation: p_j in Eigen double arithmetic, widened by its own error bound (n + |d_j| + 8)
/// 2^-53. It overlaps every MPFR enclosure. Finite and masked rows only.
std::vector<Enclosure> eigen_softmax(Dtype in, const void* logits, std::int64_t V);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Sharper bounds of long sums (BOUNDS.md section 3): of rows whose terms differ greatly, and by depths.
#pragma once

#include <cmath>
#include <vector>

#include "accuracy/bounds/bounds.hpp"

namespace assay {

/// An upper bound of e^b - 1 for b >= 0, without a call if b is small: e^b - 1 <= b + 0.719 b^2 on [0, 1].
inline double growth(double b) { return b < 1 ? b + 0.719 * b * b : std::expm1(b); }

/// The absolute errors of the terms, as shares of the sum: of subnormal exps, and of numerators as they were
/// stored.
struct AbsoluteErrors {
  double exp = 0;              // of every term
  std::vector<double> stored;  // added to it for a stored numerator, by position; empty: none are stored
  double epsilon = 0;
  double rescales = 1;  // how often a term's error counts, with those of its rescales

  double of(std::size_t i) const { return exp + (stored.empty() ? 0 : stored[i]); }
};

/// Bounds |ln(computed sum / exact)| of a sum whose terms differ greatly in size: one bound for each head of
/// 1, 2, 4, ... terms, by descending probability. The error of an addition is at most its smaller
/// operand, so what is added to a head counts at most twice, in any order, and so do its absolute errors
/// (HeadTail.head_above and head_below, of the rounded exps). In an online sum those of a term count four
/// times, and a head holds all equal logits (OnlineHeadAbove.online_head_above, online_head_below). `grown`:
/// p (e^e0 - 1) of every term, e0 its log-error before the additions; `share`: the share of epsilon, which is
/// one more term.
std::vector<double> by_heads(const Terms& t, const RowTruth& row, double h, const std::vector<double>& grown,
                             double share, const AbsoluteErrors& errors);

/// Bounds the same of any sum, without the absolute errors. At most n - k + floor(log2 k) additions lie above
/// the k-th deepest of n leaves (LeafDepth.v). So the bound is largest if the largest terms p e^e0 are the
/// deepest. Epsilon may have any depth.
double by_depth(const Terms& t, const RowTruth& row, double h, const std::vector<double>& grown,
                double share);

}  // namespace assay

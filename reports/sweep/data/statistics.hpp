// SPDX-License-Identifier: Apache-2.0
// Quantiles of timings, and the test whether two sets of timings differ. They assume no distribution: timings
// have one long tail and sometimes two humps.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace assay {

/// The quantile q, with q in [0, 1], interpolated linearly between neighbours. `samples` is not empty.
double quantile(std::vector<double> samples, double q);

/// A 95 % confidence interval of the median: from the sample of rank j to that of rank n + 1 - j. j is the
/// largest rank for which each end is on the wrong side of the median with a probability of at most 2.5 %,
/// for any distribution. Empty for fewer than 6 samples, which cannot reach 95 %.
std::optional<std::pair<double, double>> median_interval(std::vector<double> samples);

/// The two-sided p value of the Mann-Whitney U test: how probable so large a difference of ranks is if both
/// sets come from one distribution. Exact for up to 30 samples in each set, with or without ties. Otherwise
/// the normal approximation, corrected for ties and continuity. 1 if a set is empty.
double mann_whitney(const std::vector<double>& a, const std::vector<double>& b);

/// The smallest p value that sets of n and m samples can give: 2 / C(n + m, n).
double least_p(std::size_t n, std::size_t m);

/// Holm's correction for several tests: raises each p value because there are others. The results are in the
/// order of `p`.
std::vector<double> holm(const std::vector<double>& p);

}  // namespace assay

// Order statistics of timings, and the test that tells two sets of them apart. No distribution is assumed:
// timings have one long tail and now and then two humps.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace assay {

/// The quantile q in [0, 1] of samples that are not empty, linear between neighbours.
double quantile(std::vector<double> samples, double q);

/// A 95 % interval of the median: the samples of rank j and n + 1 - j, with the largest j that leaves out at
/// most 2.5 % at either end whatever the distribution. Nothing for fewer than 6 samples: no pair of them
/// reaches 95 %.
std::optional<std::pair<double, double>> median_interval(std::vector<double> samples);

/// Mann-Whitney U, two-sided: how probable so large a difference of ranks is if both came from one
/// distribution. Exact for up to 30 samples a side without ties, else by the normal approximation with ties
/// and continuity corrected. 1 where a side is empty.
double mann_whitney(const std::vector<double>& a, const std::vector<double>& b);

/// The smallest p that so many samples a side can reach: 2 / C(n + m, n).
double least_p(std::size_t n, std::size_t m);

/// Holm's correction: p values, each raised to what it is worth beside the others, in the same order.
std::vector<double> holm(const std::vector<double>& p);

}  // namespace assay

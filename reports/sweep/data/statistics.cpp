// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/data/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace assay {
namespace {

/// The distribution of U for n and m samples without ties: entry u is the number of orders with U = u over
/// C(n + m, n). These numbers are the coefficients of the Gaussian binomial.
std::vector<double> u_distribution(std::size_t n, std::size_t m) {
  std::vector<double> ways(n * m + 1, 0.0);
  ways[0] = 1;
  // Multiplies (1 - q^(m+i)) / (1 - q^i) for i = 1..n. The factor i / (m + i) keeps the sum at 1.
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t u = ways.size(); u-- > m + i;) ways[u] -= ways[u - m - i];
    for (std::size_t u = i; u < ways.size(); ++u) ways[u] += ways[u - i];
    const double scale = static_cast<double>(i) / static_cast<double>(m + i);
    for (double& w : ways) w *= scale;
  }
  return ways;
}

/// The exact p value with ties. `doubled`: twice the midrank of each sample, so that it is an integer. Counts
/// all choices of n of them, and returns the share whose sum is at least as far from the mean as `observed`.
double as_extreme(const std::vector<std::size_t>& doubled, std::size_t n, std::size_t observed) {
  const std::size_t all = std::accumulate(doubled.begin(), doubled.end(), std::size_t{0});
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(all + 1, 0.0));
  ways[0][0] = 1;
  std::size_t reach = 0;
  for (const std::size_t rank : doubled) {
    reach += rank;
    for (std::size_t j = n; j >= 1; --j)
      for (std::size_t sum = reach; sum + 1 > rank; --sum) ways[j][sum] += ways[j - 1][sum - rank];
  }
  const double mean = static_cast<double>(n * all) / static_cast<double>(doubled.size());
  const double off = std::fabs(static_cast<double>(observed) - mean);
  double total = 0, extreme = 0;
  for (std::size_t sum = 0; sum <= all; ++sum) {
    total += ways[n][sum];
    if (std::fabs(static_cast<double>(sum) - mean) >= off - 1e-6) extreme += ways[n][sum];
  }
  return extreme / total;
}

}  // namespace

double quantile(std::vector<double> samples, double q) {
  std::sort(samples.begin(), samples.end());
  const double at = q * static_cast<double>(samples.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, samples.size() - 1);
  const double part = at - static_cast<double>(low);
  return samples[low] + part * (samples[high] - samples[low]);
}

std::optional<std::pair<double, double>> median_interval(std::vector<double> samples) {
  const std::size_t n = samples.size();
  if (n < 6) return std::nullopt;
  std::sort(samples.begin(), samples.end());
  // P(fewer than j of n samples lie below the median) = sum over i < j of C(n, i) / 2^n.
  double term = std::exp2(-static_cast<double>(n)), below = 0;
  std::size_t j = 0;
  while (below + term <= 0.025) {
    below += term;
    term *= static_cast<double>(n - j) / static_cast<double>(j + 1);
    ++j;
  }
  return std::pair{samples[j - 1], samples[n - j]};
}

double mann_whitney(const std::vector<double>& a, const std::vector<double>& b) {
  const std::size_t n = a.size(), m = b.size();
  if (n == 0 || m == 0) return 1;
  std::vector<std::pair<double, bool>> all;
  for (double x : a) all.emplace_back(x, true);
  for (double x : b) all.emplace_back(x, false);
  std::sort(all.begin(), all.end());
  double ranks = 0, tied = 0;
  std::vector<std::size_t> doubled;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    while (end < all.size() && all[end].first == all[i].first) ++end;
    const auto group = static_cast<double>(end - i);
    const double rank = static_cast<double>(i + 1 + end) / 2;
    doubled.insert(doubled.end(), end - i, i + 1 + end);
    for (; i < end; ++i)
      if (all[i].second) ranks += rank;
    tied += group * group * group - group;
  }
  const auto dn = static_cast<double>(n), dm = static_cast<double>(m), N = dn + dm;
  const double u = ranks - dn * (dn + 1) / 2;
  if (tied == 0 && n <= 30 && m <= 30) {
    const std::vector<double> ways = u_distribution(n, m);
    const auto least = static_cast<std::size_t>(std::min(u, dn * dm - u));
    const double tail =
        std::accumulate(ways.begin(), ways.begin() + static_cast<std::ptrdiff_t>(least) + 1, 0.0);
    return std::clamp(2 * tail, 0.0, 1.0);
  }
  if (n <= 30 && m <= 30) return as_extreme(doubled, n, static_cast<std::size_t>(std::lround(2 * ranks)));
  const double variance = dn * dm / 12 * (N + 1 - tied / (N * (N - 1)));
  if (!(variance > 0)) return 1;
  const double z = std::max(0.0, std::fabs(u - dn * dm / 2) - 0.5) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2.0));
}

double least_p(std::size_t n, std::size_t m) {
  if (n == 0 || m == 0) return 1;
  double ways = 1;
  for (std::size_t i = 1; i <= n; ++i) ways *= static_cast<double>(m + i) / static_cast<double>(i);
  return std::min(1.0, 2 / ways);
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> raised(p.size());
  double most = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    most = std::max(most, std::min(1.0, static_cast<double>(p.size() - i) * p[order[i]]));
    raised[order[i]] = most;
  }
  return raised;
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "accuracy/judge/log_truth.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kUnit = 0x1p-52;  // 1 + 2^-53 would be 1

/// Widened by `units` of 2^-52 relative; x >= 0.
double down(double x, double units) { return x * (1 - units * kUnit); }
double up(double x, double units) { return x * (1 + units * kUnit) + std::numeric_limits<double>::min(); }

}  // namespace

Enclosure log_sum_truth(const RowTruth& row, double more) {
  // s = c + T: c is the number of logits equal to the maximum, T the sum of the terms below it. log and log1p
  // of the C library are within 2 ulp, that is 4 units.
  double count = 0, lo = 0, hi = 0;
  for (std::size_t i = 0; i < row.x.size(); ++i) {
    if (row.d[i] == 0) {
      ++count;
    } else {
      lo += row.lo[i];
      hi += row.hi[i];
    }
  }
  const auto n = static_cast<double>(row.x.size());
  const double tail_lo = down(lo * row.s.lo + more, n + 12), tail_hi = up(hi * row.s.hi + more, n + 12);
  const Enclosure by_tail{down(down(std::log(count), 4) + down(std::log1p(tail_lo / count), 6), 2),
                          up(up(std::log(count), 4) + up(std::log1p(tail_hi / count), 6), 2)};
  const Enclosure by_sum{std::max(0.0, down(std::log(row.s.lo), 4)), up(std::log(row.s.hi), 4)};
  return {std::max(by_tail.lo, by_sum.lo), std::min(by_tail.hi, by_sum.hi)};
}

Enclosure log_prob_truth(const RowTruth& row, const Enclosure& log_sum, std::int64_t j) {
  const double d = row.d[static_cast<std::size_t>(j)];
  if (std::isinf(d)) return {d, d};
  // d and the difference are both rounded to nearest; neither can be positive.
  return {-up(up(-d, 1) + log_sum.hi, 1), -down(down(-d, 1) + log_sum.lo, 1)};
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The independent check of the oracle: the same probabilities in Eigen's double arithmetic, without MPFR and
// without sorting, each widened by its own error bound. It can contradict oracle.cpp.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/oracle/oracle.hpp"

namespace assay {

std::vector<Enclosure> eigen_softmax(Dtype in, const void* logits, std::int64_t V) {
  Eigen::ArrayXd x(V);
  for (std::int64_t i = 0; i < V; ++i) x[i] = decode(in, load_bits(in, logits, i));
  if (V == 0 || x.isNaN().any()) return {};
  const double m = x.maxCoeff();
  if (!std::isfinite(m)) return {};

  const Eigen::ArrayXd d = x - m;
  // libm's exp, within 1 ulp. Eigen's own packet exp stops decreasing near -709.78, an error of 2^-1024.
  const Eigen::ArrayXd e = d.unaryExpr([](double t) { return std::exp(t); });
  const Eigen::ArrayXd p = e / e.sum();

  // Errors in u = 2^-53. Numerator: |d_j| u from the rounding of d, 2u from exp. Denominator: at most ln n u
  // from the shifts (the p-weighted mean of |d| is at most ln n), 2u from exp, (n - 1) u from a sum in any
  // order. Division: u. Eigen sums in packets of two or more; this saves n/2, of which n/2 - 2 cover ln n,
  // and the 8 covers the rest from n = 1 on. A subnormal e or p instead loses up to one unit, 2^-1074.
  const double n = static_cast<double>((x > -std::numeric_limits<double>::infinity()).count());
  std::vector<Enclosure> enclosures(static_cast<std::size_t>(V));
  for (std::int64_t j = 0; j < V; ++j) {
    if (std::isinf(x[j])) continue;
    const double width = p[j] > 0 ? p[j] * ((n - d[j] + 8) * 0x1p-53) : 0;
    enclosures[static_cast<std::size_t>(j)] = {std::max(p[j] - width - 0x1p-1073, 0.0),
                                               p[j] + width + 0x1p-1073};
  }
  return enclosures;
}

}  // namespace assay

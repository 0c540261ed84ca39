// The oracle's independent path: the same probabilities in Eigen's double arithmetic, no MPFR and no
// sorting, each widened by a bound on its own error. It exists to contradict oracle_row.cpp.
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
  // libm's exp, within 1 ulp: Eigen's own packet exp stops falling near -709.78, an error of 2^-1024.
  const Eigen::ArrayXd e = d.unaryExpr([](double t) { return std::exp(t); });
  const Eigen::ArrayXd p = e / e.sum();

  // u = 2^-53. Numerator: d rounded |d_j| u, exp 2u. Denominator: at most ln n u from the shifts (the
  // p-weighted mean of |d| is at most ln n), 2u from exp, (n - 1) u from a sum of any shape. Division u.
  // Eigen sums in packets of two or more, which leaves n/2 - 2 for ln n, and 8 covers the rest from n = 1.
  // Subnormal e and p lose up to one unit each, 2^-1074, in place of relative errors.
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

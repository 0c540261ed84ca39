// SPDX-License-Identifier: Apache-2.0
#include "accuracy/judge/resolution.hpp"

#include <cmath>

namespace assay {

void Resolution::row(double limit) {
  // Only infinite bounds lead to NaN.
  const auto number = [](double x) { return std::isnan(x) ? kInf : x; };
  if (mass_ > 0 || sum_ < kInf) {
    const double element = mass_ > 0 ? number(room_ / mass_) : sum_;
    const double most = limit_ > 0 ? limit_ / mass_ : limit;
    element_ = std::max(element_, element);
    common_ = std::max(common_, std::min(number(sum_), element));
    over_limit_ = std::max(over_limit_, number(element / most));
    ++rows_;
  }
  mass_ = room_ = limit_ = 0;
  sum_ = kInf;
}

double resolution_limit(Dtype out) {
  return out == Dtype::f16 || out == Dtype::bf16 ? 2 * unit_roundoff(out) : 1e-3;
}

}  // namespace assay

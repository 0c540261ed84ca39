// SPDX-License-Identifier: Apache-2.0
#include "accuracy/judge/error_profile.hpp"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr std::size_t kBins = 54;  // bins of 2 nats: up to 108, past the last subnormal f32 output
constexpr double kBinWidth = 2;
constexpr int kSignedBins = 80;

}  // namespace

void ErrorProfile::restart() {
  signed_.clear();
  bins.clear();
}

void ErrorProfile::element(double distance, double ulp_error, double signed_ulp, double bound_ulp) {
  for (double at = 0; bins.size() < kBins; at += kBinWidth) bins.push_back({at, at + kBinWidth});
  if (distance >= 0 && distance < kBins * kBinWidth) {
    Bin& b = bins[static_cast<std::size_t>(distance / kBinWidth)];
    ++b.count;
    b.take(ulp_error, bound_ulp);
    b.mean_ulp += ulp_error;
  }
  signed_.push_back(static_cast<float>(signed_ulp));
}

void ErrorProfile::finish() {
  for (Bin& b : bins)
    if (b.count > 0) b.mean_ulp /= static_cast<double>(b.count);
  std::erase_if(bins, [](const Bin& b) { return b.count == 0; });

  // The smallest power of two that covers 99.8 % of the errors, so that one axis fits errors of 0.5 and of
  // 3000 ulp.
  std::vector<float> size;
  for (float e : signed_) size.push_back(std::isfinite(e) ? std::fabs(e) : 0);
  signed_limit = 1;
  signed_counts.assign(kSignedBins, 0);
  if (!size.empty()) {
    const auto at = size.begin() + static_cast<std::ptrdiff_t>(0.998 * static_cast<double>(size.size() - 1));
    std::nth_element(size.begin(), at, size.end());
    while (signed_limit < static_cast<double>(*at)) signed_limit *= 2;
  }
  for (float e : signed_) {
    const double bin = (static_cast<double>(e) + signed_limit) / (2 * signed_limit) * kSignedBins;
    if (!(bin >= 0))
      ++below;
    else if (bin >= kSignedBins)
      ++above;
    else
      ++signed_counts[static_cast<std::size_t>(bin)];
  }
  signed_ = {};
}

}  // namespace assay

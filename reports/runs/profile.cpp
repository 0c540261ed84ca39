// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/profile.hpp"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr int kBins = 54;  // bins of 2 nats: up to 108, past the last subnormal f32 output
constexpr double kBinWidth = 2;
constexpr int kSignedBins = 80;

}  // namespace

ProfileObserver::ProfileObserver(Profile& profile) : profile_(profile) { restart(); }

void ProfileObserver::restart() {
  signed_.clear();
  profile_.bins.assign(kBins, {});
  for (int i = 0; i < kBins; ++i) {
    profile_.bins[static_cast<std::size_t>(i)].distance_lo = kBinWidth * i;
    profile_.bins[static_cast<std::size_t>(i)].distance_hi = kBinWidth * (i + 1);
  }
}

void ProfileObserver::element(double distance, double ulp_error, double signed_ulp, double bound_ulp) {
  if (distance >= 0 && distance < kBins * kBinWidth) {
    Profile::Bin& b = profile_.bins[static_cast<std::size_t>(distance / kBinWidth)];
    ++b.count;
    b.take(ulp_error, bound_ulp);
    b.mean_ulp += ulp_error;
  }
  signed_.push_back(static_cast<float>(signed_ulp));
}

void ProfileObserver::finish() {
  for (Profile::Bin& b : profile_.bins)
    if (b.count > 0) b.mean_ulp /= static_cast<double>(b.count);
  std::erase_if(profile_.bins, [](const Profile::Bin& b) { return b.count == 0; });

  // The smallest power of two that covers 99.8 % of the errors, so that one axis fits errors of 0.5 and of
  // 3000 ulp.
  std::vector<float> size;
  for (float e : signed_) size.push_back(std::isfinite(e) ? std::fabs(e) : 0);
  profile_.signed_limit = 1;
  profile_.signed_counts.assign(kSignedBins, 0);
  if (!size.empty()) {
    const auto at = size.begin() + static_cast<std::ptrdiff_t>(0.998 * static_cast<double>(size.size() - 1));
    std::nth_element(size.begin(), at, size.end());
    while (profile_.signed_limit < static_cast<double>(*at)) profile_.signed_limit *= 2;
  }
  for (float e : signed_) {
    const double bin =
        (static_cast<double>(e) + profile_.signed_limit) / (2 * profile_.signed_limit) * kSignedBins;
    if (!(bin >= 0))
      ++profile_.below;
    else if (bin >= kSignedBins)
      ++profile_.above;
    else
      ++profile_.signed_counts[static_cast<std::size_t>(bin)];
  }
}

bool profiled(const std::string& family, std::int64_t V) {
  return (family == "gpt_logits" && V == 32000) || (family == "uniform_80" && V == 4099) ||
         (family == "normal_10" && V == 4099);
}

}  // namespace assay

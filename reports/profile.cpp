#include "reports/profile.hpp"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr int kBins = 54;          // of 2 nats: up to 108, past the last subnormal f32 output
constexpr double kBinWidth = 2;
constexpr int kSignedBins = 80;

}  // namespace

ProfileObserver::ProfileObserver(Profile& profile) : profile_(profile) {
  profile.bins.resize(kBins);
  for (int i = 0; i < kBins; ++i) {
    profile.bins[static_cast<std::size_t>(i)].distance_lo = kBinWidth * i;
    profile.bins[static_cast<std::size_t>(i)].distance_hi = kBinWidth * (i + 1);
  }
  // 16-bit outputs stay within a few ulp, f32 spreads with the row's range.
  profile.signed_limit = profile.dtype == "f32" ? 8 : 2;
  profile.signed_counts.assign(kSignedBins, 0);
}

void ProfileObserver::element(double distance, double ulp_error, double signed_ulp, double bound_ulp) {
  if (distance >= 0 && distance < kBins * kBinWidth) {
    Profile::Bin& b = profile_.bins[static_cast<std::size_t>(distance / kBinWidth)];
    ++b.count;
    b.max_ulp = std::max(b.max_ulp, ulp_error);
    b.mean_ulp += ulp_error;
    if (b.bound_ulp == 0 || bound_ulp < b.bound_ulp) b.bound_ulp = bound_ulp;
  }
  const double at = (signed_ulp + profile_.signed_limit) / (2 * profile_.signed_limit) * kSignedBins;
  if (!(at >= 0)) ++profile_.below;
  else if (at >= kSignedBins) ++profile_.above;
  else ++profile_.signed_counts[static_cast<std::size_t>(at)];
}

void ProfileObserver::finish() {
  for (Profile::Bin& b : profile_.bins)
    if (b.count > 0) b.mean_ulp /= static_cast<double>(b.count);
  std::erase_if(profile_.bins, [](const Profile::Bin& b) { return b.count == 0; });
}

bool profiled(const std::string& family, std::int64_t V) {
  return (family == "gpt_logits" && V == 32000) || (family == "uniform_80" && V == 4099) || (family == "normal_10" && V == 4099);
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/rig/two_clocks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

/// The request of which least is unexplained.
const TwoClocks& best_of(const std::vector<TwoClocks>& all) {
  return *std::ranges::min_element(all, {}, &TwoClocks::unexplained_us);
}

}  // namespace

std::string contradicted(const std::vector<TwoClocks>& ones, const std::vector<TwoClocks>& batches,
                         std::int64_t launches, double median_us) {
  if (ones.empty() || batches.empty()) return {};
  const double of_one = std::clamp(best_of(ones).unexplained_us(), 0.0, kMostOfOneUs);
  const TwoClocks& batch = best_of(batches);
  const auto n = static_cast<double>(launches);
  const double said = batch.said_us / n;
  if (const double open = batch.unexplained_us() - of_one;
      open > kMostUnexplained * batch.said_us + kMostUnexplainedUs)
    return fmt::format(
        "its process says that a launch takes {:.4g} us; by the clock of this process {} launches took "
        "{:.4g} us "
        "longer than that explains: {:.4g} us each",
        said, launches, open, said + open / n);
  const TwoClocks& quick = *std::ranges::min_element(batches, {}, &TwoClocks::said_us);
  if (quick.said_us / n > kMostSlower * median_us + kMostSlowerUs)
    return fmt::format(
        "its process says {:.4g} us for a launch of a sample, and {:.4g} us for one of {} launches",
        median_us, quick.said_us / n, launches);
  return {};
}

}  // namespace assay

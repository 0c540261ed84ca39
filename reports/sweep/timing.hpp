// How often a launch is timed, and the ceilings it is held against.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/sweep/data/record.hpp"
#include "reports/sweep/rig/rig.hpp"

namespace assay {

struct Timing {
  std::vector<double> times_us;  // of one launch each
  std::int64_t launches_per_sample = 0;
  bool once = false;  // the first launch took too long to be repeated
  std::string cold;   // how the caches were kept cold
  double median_us() const;
};

/// Longer than this a launch is not repeated.
inline constexpr double kTooLongUs = 200'000;

/// Times what the rig holds: in batches of some 100 us where a launch is shorter, until the 95 % interval of
/// the median is within 2 %, 30 samples or 150 ms; `once` where the first launch takes too long.
Timing time_launches(Rig& rig);
/// The one launch that was made.
Timing timed_once(double us);

/// Writes samples, quantiles and interval into the record.
void put_timing(SweepRecord& r, const Timing& t);

/// The machine's copy, read and empty launch: each size is measured once a run.
class Ceilings {
 public:
  explicit Ceilings(Rig& rig) : rig_(rig) {}
  /// Null where the rig has no such thing or no room for it.
  const Timing* copy(std::int64_t bytes);
  const Timing* read(std::int64_t bytes);
  const Timing* empty();

 private:
  using BySize = std::map<std::int64_t, std::optional<Timing>>;
  const Timing* measured(BySize& by_size, std::int64_t bytes, bool (Rig::*prepare)(std::size_t));

  Rig& rig_;
  BySize copies_, reads_;
  std::optional<std::optional<Timing>> empty_;
};

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// How often a launch is timed, and the ceilings that it is compared with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/sweep/data/record.hpp"
#include "reports/sweep/rig/rig.hpp"

namespace assay {

struct Timing {
  std::vector<double> times_us;  // each of one launch
  std::int64_t launches_per_sample = 0;
  bool once = false;  // true: the first launch took too long to be repeated
  std::string cold;   // how the caches were kept cold
  double median_us() const;
};

/// Times what the rig holds, by the rules of rig/rules.hpp: until the 95 % interval of the median is narrow,
/// or there are samples enough. Short launches are timed in batches. Sets `once` if the first launch takes
/// too long.
Timing time_launches(Rig& rig);
/// The same for anything that takes some us for so many launches, of which at most `most_launches` are made
/// at a time.
Timing time_runs(const std::function<double(std::int64_t)>& run_us, std::int64_t most_launches);
/// Empty, or why the clock of this process contradicts such a timing of the kernel that the rig holds. It
/// makes more launches, but for one that took too long or has too much memory. Empty also if there is one
/// clock.
std::string contradicted_by_clock(Rig& rig, const Timing& t);
/// The timing of a single launch.
Timing timed_once(double us);

/// Writes what ran where into the record.
void put_machine(TimedFact& r, const Machine& m);

/// Writes samples, quantiles and interval into the record.
void put_timing(TimedFact& r, const Timing& t);

/// The machine's copy, read and empty launch. Each size is measured once per run.
class Ceilings {
 public:
  explicit Ceilings(Rig& rig) : rig_(rig) {}
  /// Null if the rig cannot do this, or has no memory for it. The copy is the fastest of kCopies.
  const Timing* copy(std::int64_t bytes);
  const Timing* memcpy(std::int64_t bytes);
  const Timing* read(std::int64_t bytes);
  const Timing* empty();
  /// The fastest of all ways to move so many bytes, those that let the next launch start early among them.
  /// `reads`: also the ways to read as many.
  const Timing* fastest(std::int64_t bytes, bool reads);
  /// What is asked of this size from now on is measured again.
  void forget(std::int64_t bytes);

 private:
  using BySize = std::map<std::int64_t, std::optional<Timing>>;
  template <class Prepare>
  const Timing* measured(BySize& by_size, std::int64_t bytes, Prepare prepare);
  const Timing* copied(CopyBy by, std::int64_t bytes);

  Rig& rig_;
  std::map<CopyBy, BySize> copies_;
  BySize reads_, chained_reads_;
  std::optional<std::optional<Timing>> empty_;
};

}  // namespace assay

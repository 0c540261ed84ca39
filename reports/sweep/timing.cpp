// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/timing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reports/build_info.hpp"
#include "reports/sweep/data/statistics.hpp"
#include "reports/sweep/rig/rules.hpp"

namespace assay {
namespace {

bool narrow(const std::vector<double>& times) {
  const auto interval = median_interval(times);
  return interval && interval->second - interval->first <= kTimingRules.narrow * quantile(times, 0.5);
}

/// Each of them may be null.
const Timing* faster(const Timing* a, const Timing* b) {
  return !a || (b && b->median_us() < a->median_us()) ? b : a;
}

/// Clocks do not resolve less than a nanosecond; further digits would be noise in every file.
double rounded(double us) { return std::round(us * 1000) / 1000; }

}  // namespace

double Timing::median_us() const { return quantile(times_us, 0.5); }

Timing timed_once(double us) {
  Timing t;
  t.launches_per_sample = 1;
  t.once = true;
  t.times_us = {rounded(us)};
  return t;
}

Timing time_launches(Rig& rig) {
  return time_runs([&rig](std::int64_t n) { return rig.run_us(n); }, rig.most_launches());
}

Timing time_runs(const std::function<double(std::int64_t)>& run_us, std::int64_t most_launches) {
  const TimingRules& rules = kTimingRules;
  const double first = run_us(1);
  if (first > rules.too_long_us) return timed_once(first);
  Timing t;
  const auto batch_for = [&](double us) {
    const double wanted = std::ceil(rules.batch_us / std::max(us, rules.least_us));
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted), 1, most_launches);
  };
  // The first launch also loads code, and clocks that dropped while the host was busy need time to rise.
  double one = first;
  for (double warm = 0; warm < rules.warm_us;) {
    const std::int64_t n = batch_for(one);
    const double us = run_us(n);
    one = us / static_cast<double>(n);
    warm += std::max(us, 1.0);
  }
  t.launches_per_sample = batch_for(one);
  const auto n = static_cast<double>(t.launches_per_sample);
  const auto samples = [&t] { return static_cast<std::int64_t>(t.times_us.size()); };
  for (double all = 0; samples() < rules.most_samples && all < rules.enough_us;) {
    const double us = run_us(t.launches_per_sample);
    all += us;
    t.times_us.push_back(rounded(us / n));
    if (samples() >= rules.least_samples && narrow(t.times_us)) break;
  }
  return t;
}

std::string contradicted_by_clock(Rig& rig, const Timing& t) {
  const TimingRules& rules = kTimingRules;
  // Another process on the GPU takes whole slices of time: it lengthens some samples much, and all batches
  // by the mean of that.
  const double typical =
      t.times_us.empty()
          ? 0
          : std::max(t.median_us(), std::accumulate(t.times_us.begin(), t.times_us.end(), 0.0) /
                                        static_cast<double>(t.times_us.size()));
  std::vector<TwoClocks> ones, batches;
  if (t.once) {
    if (const auto last = rig.clocks()) batches.push_back(*last);
    return contradicted({TwoClocks()}, batches, 1, typical);
  }
  const std::int64_t launches =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(rules.clock_us / std::max(typical, rules.least_us)),
                               rules.clock_least_launches, rules.most_launches);
  std::string why;
  for (std::int64_t i = 0; i < rules.clock_requests; ++i) {
    for (const bool batch : {false, true}) {
      rig.run_us(batch ? launches : 1);
      const auto heard = rig.clocks();
      if (!heard) return {};
      (batch ? batches : ones).push_back(*heard);
    }
    why = contradicted(ones, batches, launches, typical);
    if (why.empty()) break;
  }
  return why;
}

void put_machine(TimedFact& r, const Machine& m) {
  r.gpu = m.name;
  r.driver = m.driver;
  r.cuda = m.cuda;
  r.compiler = m.compiler;
  r.flags = m.flags;
  r.commit = build_info::commit;
}

void put_timing(TimedFact& r, const Timing& t) {
  r.times_us = t.times_us;
  r.samples = static_cast<std::int64_t>(t.times_us.size());
  r.median_us = t.median_us();
  r.p10_us = quantile(t.times_us, 0.1);
  r.p90_us = quantile(t.times_us, 0.9);
  if (const auto interval = median_interval(t.times_us)) {
    r.ci_low_us = interval->first;
    r.ci_high_us = interval->second;
  }
}

template <class Prepare>
const Timing* Ceilings::measured(BySize& by_size, std::int64_t bytes, Prepare prepare) {
  const auto [at, fresh] = by_size.try_emplace(bytes);
  if (fresh && prepare(static_cast<std::size_t>(bytes))) {
    at->second = time_launches(rig_);
    at->second->cold = rig_.cold();
  }
  return at->second ? &*at->second : nullptr;
}

const Timing* Ceilings::copied(CopyBy by, std::int64_t bytes) {
  return measured(copies_[by], bytes, [&](std::size_t n) { return rig_.prepare_copy(n, by); });
}
const Timing* Ceilings::memcpy(std::int64_t bytes) { return copied(CopyBy::memcpy, bytes); }
const Timing* Ceilings::copy(std::int64_t bytes) {
  const Timing* fastest = nullptr;
  for (const CopyBy by : kCopies) fastest = faster(fastest, copied(by, bytes));
  return fastest;
}
const Timing* Ceilings::read(std::int64_t bytes) {
  return measured(reads_, bytes, [&](std::size_t n) { return rig_.prepare_read(n, false); });
}
const Timing* Ceilings::fastest(std::int64_t bytes, bool reads) {
  const Timing* all = faster(copy(bytes), copied(CopyBy::chained, bytes));
  if (!reads) return all;
  return faster(faster(all, read(bytes)),
                measured(chained_reads_, bytes, [&](std::size_t n) { return rig_.prepare_read(n, true); }));
}
void Ceilings::forget(std::int64_t bytes) {
  for (auto& [by, sizes] : copies_) sizes.erase(bytes);
  reads_.erase(bytes);
  chained_reads_.erase(bytes);
}

const Timing* Ceilings::empty() {
  if (!empty_) {
    empty_.emplace();
    if (rig_.prepare_empty()) {
      *empty_ = time_launches(rig_);
      (*empty_)->cold = rig_.cold();
    }
  }
  return *empty_ ? &**empty_ : nullptr;
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The sweep's records as the page's sections use them: one backend and one family of inputs; found by
// variant, dtype and shape.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "reports/sweep/data/record.hpp"

namespace assay::speed {

/// The dtypes of a page, in the order of its tables.
inline constexpr const char* kDtypeOrder[] = {"f32", "f16", "bf16"};

struct Context {
  const std::vector<SweepRecord>& records;
  const std::vector<AccessRecord>& accesses;
  std::string backend;  // cuda if anything was timed there
  std::string family;   // the family of most records
  /// Variants and peers with a finite time. Wrong kernels are left out: their speed means nothing.
  std::vector<const SweepRecord*> timed;
  std::vector<std::string> variants;  // the project's in alphabetical order, then peers
  std::vector<std::string> dtypes;    // those of kDtypeOrder that occur

  /// Null if it was not timed.
  const SweepRecord* at(std::string_view variant, std::string_view dtype, std::int64_t rows, std::int64_t V,
                        const Pick& pick = {}) const;
  /// The timed V, ascending.
  std::vector<std::int64_t> sizes(std::string_view variant, std::string_view dtype, std::int64_t rows,
                                  const Pick& pick = {}) const;

  using Place = std::tuple<std::string, std::string, std::int64_t, Pick, std::int64_t>;  // V is last
  std::map<Place, const SweepRecord*, std::less<>> index;

  /// Of a variant, its op's name: also of one whose accesses were counted and which was not timed.
  std::map<std::string, std::string, std::less<>> ops;
  /// What stands behind the variant's name: ", k = 5", ", threshold 0.9"; empty if it has neither.
  std::string behind_name(std::string_view variant, const Pick& pick) const;

  std::set<std::string> pages = {};  // the kernels that have a page of their own in kernels/

  std::vector<SplitRecord> splits;  // right ones: rows split over several GPUs
  /// The fastest one of this exchange, "nccl", "peers" or "held"; null if there is none.
  const SplitRecord* split(std::string_view exchange, int gpus, std::string_view dtype, std::int64_t rows,
                           std::int64_t V) const;
};

Context gather(const std::vector<SweepRecord>& records, const std::vector<AccessRecord>& accesses,
               const std::vector<SplitRecord>& splits = {});

/// "online_block" of "online_block/f32@cuda".
std::string variant_of(std::string_view key);
std::string dtype_of(std::string_view key);
/// True if its k, or its threshold, is the usual one of its op, or if it has none.
bool of_usual_pick(const SweepRecord& r);
/// Share of that ceiling; NaN if the ceiling was not measured.
double share(const SweepRecord& r);
double elements_per_second(const SweepRecord& r);
std::int64_t dtype_bytes(std::string_view dtype);

/// Accesses per element that reach memory: from the counters if they were read near this shape (V within a
/// tenth, rows within a factor of 4), otherwise from the claim.
struct Moved {
  double accesses = 0;
  bool measured = false;
  std::int64_t V = 0;
};
std::optional<Moved> moved(const Context& c, const SweepRecord& r);
/// The accesses that the record's variant claims.
std::optional<Moved> claimed(const SweepRecord& r);
/// The speed of the claimed accesses as a share of the copy's speed. 1 is the kernel's own roofline; it is
/// higher if caches serve what is read again.
std::optional<double> own_share(const SweepRecord& r);
/// The same for the accesses that reached memory by the counters; empty if they were not read.
std::optional<double> memory_share(const Context& c, const SweepRecord& r);

/// The result of the whole run.
struct Counts {
  StatusCounts of;        // peers that failed are counted beside it
  std::int64_t once = 0;  // of those that passed
  std::int64_t peers_failed = 0;
  std::int64_t records() const { return of.total() + peers_failed; }
  std::int64_t wrong = 0, not_judged = 0;  // of this project's timed kernels
};
Counts count(const std::vector<SweepRecord>& records);
/// True if something was timed and nothing of this project failed or was wrong. What is outside a kernel's
/// declared domain is timed but not judged, and the page says so.
bool passed(const std::vector<SweepRecord>& records);
std::string verdict_line(const std::vector<SweepRecord>& records);

}  // namespace assay::speed

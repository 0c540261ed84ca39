// SPDX-License-Identifier: Apache-2.0
// One configuration of the performance sweep as one JSON line: what ran, how long it took, how fast the
// machine copies and reads as many bytes, whether the outputs were right, and the command that repeats it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/ops.hpp"

namespace assay {

/// The names in JSON are the members' names. V: row length. Times are in microseconds, of one launch. A value
/// that was not measured or is not known is null.
struct SweepRecord : CaseShape {
  std::string key;  // variant/dtype@backend; ceilings: copy@cuda, memcpy@cuda, read@cuda, empty@cuda
  std::string role = "variant";  // variant, peer, ceiling
  std::string backend;           // cuda, host: where it ran
  std::string op;                // an Op's name, or copy, memcpy, read, empty
  std::string dtype;
  /// measured, unsupported, not_run, failed, or once: a single sample, because the launch takes too long or
  /// needs too much memory.
  std::string status = "not_run";
  std::string reason;  // empty if measured

  std::int64_t samples = 0;
  std::vector<double> times_us;  // at most 30
  std::int64_t launches_per_sample = 0;
  std::optional<double> median_us, p10_us, p90_us;
  std::optional<double> ci_low_us, ci_high_us;  // 95 % interval of the median

  std::int64_t bytes = 0;                            // the minimum: reads each logit, writes each output
  std::optional<int> claimed_loads, claimed_stores;  // accesses per element that the variant claims
  /// Measured in the same run: the fastest device copy that moves `bytes` in total, a pass that reads as
  /// many, and an empty launch.
  std::optional<double> copy_us, read_us, empty_us;
  /// The shortest time in which this machine moved `bytes`, in any way that was tried: copies, and reads too
  /// where a launch writes fewer bytes than it reads. Launches that overlap as much as they can are among
  /// them.
  std::optional<double> fastest_us;
  std::optional<double> share_of_copy, share_of_read;
  std::optional<double> gb_per_s, share_of_datasheet;
  /// The number of accesses per element that would take the same time at the speed of the copy.
  std::optional<double> accesses_at_copy_speed;
  std::string cold;  // a sentence: how the caches were kept cold

  /// pass, fail, not_judged; before, while and after it was timed. Also fail: the time contradicts the
  /// machine's own times, or the clock of this process.
  std::string verified = "not_judged";
  std::string verified_reason;
  std::int64_t verified_elements = 0;
  std::optional<double> max_ulp, max_utilisation;

  std::string family;
  std::uint64_t seed = 0;
  std::int64_t distinct_rows = 0;  // these are repeated to fill `rows`

  std::string gpu;  // or the CPU of a host record
  std::optional<double> sm_clock_mhz, mem_clock_mhz, sm_clock_now_mhz;
  std::string driver, cuda, compiler, flags, commit;
  std::string reproduce;
};

/// The name of the configuration, such as "online_block/f32@cuda V=4032 rows=4000". k, family and seed are
/// added if they differ from 0, normal_1 and 1. Two records with the same name are of the same configuration.
std::string identity(const SweepRecord& r);

/// True for log-sum-exp and top-k: they write almost nothing, so their ceiling is a read, not a copy.
bool reads_only(const SweepRecord& r);
/// True if a launch writes fewer bytes than it reads.
bool writes_less(const SweepRecord& r);

/// No kernel is this many times as fast as the fastest way in which the machine moves as many bytes. Of the
/// 18,811 published times of kernels that write what they read, on an H100 and an H200, the largest share of
/// a copy is 1.016. The rest is for the noise of two medians.
inline constexpr double kMostShare = 1.02;
/// The kernel's speed as a share of that way's. Of a record that lacks its time, of the copy's (where fewer
/// bytes are written than read, of the faster of copy and read). Empty if nothing was measured.
std::optional<double> share_of_fastest(const SweepRecord& r);
/// Empty, or why such a share is none of a kernel: "its speed is 228 times that of the fastest copy ...".
std::string beyond_reach(const std::optional<double>& share);
/// The same of a record. A ceiling is beyond nothing.
std::string beyond_reach(const SweepRecord& r);

/// What stands behind a kernel's name: ", k = 5", ", threshold 0.9"; empty if the op has neither.
std::string behind_name(std::string_view op, const Pick& pick);

nlohmann::json to_json(const SweepRecord& r);
/// Throws InputError that names the field if one is missing or has the wrong type.
SweepRecord sweep_record_from_json(const nlohmann::json& j);
/// The record as one line, with its line break.
std::string sweep_line(const SweepRecord& r);

/// All records of a file, in order. If a configuration has several, only the last one. A torn last line,
/// which a stopped run leaves, is dropped, and *torn is set (`torn` may be null). Throws InputError that
/// names the file and the line.
std::vector<SweepRecord> read_sweep(const std::filesystem::path& file, bool* torn = nullptr);

}  // namespace assay

// One configuration of the performance sweep as one JSON line: what ran, how long it took, what the machine
// copies and reads in the same time, whether the outputs were right, and the command that repeats it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// JSON names are the member names. Times are microseconds of one launch; a value that was not measured, or
/// is not known, is null.
struct SweepRecord {
  std::string key;               // variant/dtype@backend; ceilings: copy@cuda, read@cuda, empty@cuda
  std::string role = "variant";  // variant, peer, ceiling
  std::string backend;           // cuda, host
  std::string op;                // an Op's name, or copy, read, empty
  std::string dtype;
  std::int64_t rows = 0, V = 0;
  int k = 0;  // 0 without top-k
  /// measured; once: one sample, of what takes too long or too much memory; unsupported; not_run; failed.
  std::string status = "not_run";
  std::string reason;  // empty if measured

  std::int64_t samples = 0;
  std::vector<double> times_us;  // at most 30
  std::int64_t launches_per_sample = 0;
  std::optional<double> median_us, p10_us, p90_us;
  std::optional<double> ci_low_us, ci_high_us;  // 95 % interval of the median

  std::int64_t bytes = 0;                            // compulsory: every logit once, every output once
  std::optional<int> claimed_loads, claimed_stores;  // accesses an element, by the variant's claim
  /// In the same run: a device copy that moves `bytes` in all, a pass that reads them, an empty launch.
  std::optional<double> copy_us, read_us, empty_us;
  std::optional<double> share_of_copy, share_of_read;
  std::optional<double> gb_per_s, share_of_datasheet;
  /// How many accesses an element the time is worth at the speed of the copy.
  std::optional<double> accesses_at_copy_speed;
  std::string cold;  // how caches were kept cold, a sentence

  std::string verified = "not_judged";  // pass, fail, not_judged: judged before and after the timing
  std::string verified_reason;
  std::int64_t verified_elements = 0;
  std::optional<double> max_ulp, max_utilisation;

  std::string family;
  std::uint64_t seed = 0;
  std::int64_t distinct_rows = 0;  // repeated to fill `rows`

  std::string gpu;  // or the CPU of a host record
  std::optional<double> sm_clock_mhz, mem_clock_mhz, sm_clock_now_mhz;
  std::string driver, cuda, compiler, flags, commit;
  std::string reproduce;
};

/// What makes two records the same configuration: "online_block/f32@cuda V=4032 rows=4000", and k, family and
/// seed where they are not 0, normal_1 and 1.
std::string identity(const SweepRecord& r);

nlohmann::json to_json(const SweepRecord& r);
/// Throws InputError naming the field that is missing or of the wrong type.
SweepRecord sweep_record_from_json(const nlohmann::json& j);
/// The record's line, ended.
std::string sweep_line(const SweepRecord& r);

/// All records of a file, in order; of several of one configuration the last. A last line that a stopped run
/// left torn is dropped, and `torn` (may be null) says so. Throws InputError naming the file and the line.
std::vector<SweepRecord> read_sweep(const std::filesystem::path& file, bool* torn = nullptr);

}  // namespace assay

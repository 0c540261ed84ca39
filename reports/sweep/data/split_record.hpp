// SPDX-License-Identifier: Apache-2.0
// Rows split over several GPUs as one JSON line: how long each GPU took, beside what it takes alone for its
// slice and beside its copy, and whether the rows put together were right.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// One GPU's part. Times are medians in microseconds.
struct SplitShare {
  int device = 0;
  std::int64_t first = 0, columns = 0;  // its slice of every row
  std::optional<double> median_us;      // of the split run
  /// In the same run: onepass on the slice's rows alone, and the fastest copy of as many bytes. Null for an
  /// empty slice.
  std::optional<double> alone_us, copy_us;
  std::optional<double> share_of_alone, share_of_copy;
};

/// The names in JSON are the members' names. V: row length, of all GPUs together.
struct SplitRecord {
  std::string key;        // onepass_split_fast/f32@cuda
  std::string alone_key;  // onepass_fast/f32@cuda: the kernel of alone_us
  std::string dtype;
  int gpus = 0;
  std::int64_t rows = 0, V = 0;
  std::string exchange;  // nccl, peers, held
  std::int64_t chunk_rows = 0;
  int depth = 0;  // chunks under way
  int teams = 1;  // of NCCL, that gather in turn
  bool graph = true, keep = true;
  std::string status = "not_run";  // measured, once, unsupported, not_run, failed
  std::string reason;
  std::int64_t samples = 0;
  std::vector<double> times_us;  // each of the slowest GPU
  std::optional<double> median_us, p10_us, p90_us, ci_low_us, ci_high_us;
  std::vector<SplitShare> shares;  // one a GPU
  std::string cold;
  std::string verified = "not_judged";  // pass, fail, not_judged; before and after the timing
  std::string verified_reason;
  std::int64_t verified_elements = 0;
  std::optional<double> max_ulp, max_utilisation;
  std::string family;
  std::uint64_t seed = 0;
  std::string gpu, driver, cuda, nccl, compiler, flags, commit;
  std::string reproduce;
};

/// The smallest share of alone_us over the GPUs; null if none is known.
std::optional<double> least_share(const SplitRecord& r);

/// "onepass_split_fast/f32@cuda V=262144 rows=4000 gpus=2 nccl 24x3". Two records with one name are of one
/// configuration.
std::string identity(const SplitRecord& r);
std::string split_line(const SplitRecord& r);
/// Throws InputError that names the file and the line.
std::vector<SplitRecord> read_splits(const std::filesystem::path& file);
/// Adds the records to the file; a new one replaces an old one of the same configuration.
void add_splits(const std::filesystem::path& file, const std::vector<SplitRecord>& fresh);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The sources of measured access records: the counters of the host executor, and a profiler's table of the
// launches that `assay sweep accesses --launch` makes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "reports/sweep/data/record.hpp"

namespace assay {

/// One launch to be measured.
struct AccessPoint {
  std::string key;
  std::int64_t rows = 0, V = 0;
  Pick pick = {};
};

/// The problem that the variant solves at this point.
Problem problem_of_point(const Variant& v, const AccessPoint& a);

/// The points of the published table: every key of a backend that matches `keys` (patterns; empty: all), at
/// each V that the variant can run. Top-k with k = 5.
std::vector<AccessPoint> access_points(Backend backend, const std::vector<std::string>& keys,
                                       const std::vector<std::int64_t>& V, std::int64_t rows);

/// Counts on the host executor. Throws std::runtime_error if a launch fails.
std::vector<AccessRecord> count_on_host(const std::vector<AccessPoint>& points);

/// Kernels that mark, in a profiler's table, the beginning and the end of the launches of a point.
inline constexpr const char* kPointBegins = "assay_point_begins";
inline constexpr const char* kPointEnds = "assay_point_ends";
/// Launches the marking kernels on the selected device. A build without CUDA has none.
void mark_point_begins();
void mark_point_ends();

/// The metrics for ncu, in the form that its --metrics takes.
std::string ncu_metrics();

/// Reads the output of `ncu --csv --page raw --metrics ...` for a run over `points`. The launches of each
/// point are between its marks, in the order of `points`. Lines that are not CSV are skipped. Throws
/// InputError that names the file if the number of points differs, if a point has no launch, or if a metric
/// is missing.
std::vector<AccessRecord> read_ncu(const std::filesystem::path& file, const std::vector<AccessPoint>& points,
                                   const std::string& gpu);

}  // namespace assay

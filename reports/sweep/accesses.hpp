// Where the records of measured accesses come from: the host executor's counters, and a profiler's table of
// the launches that `assay sweep accesses --launch` makes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "reports/sweep/data/access_record.hpp"

namespace assay {

/// One launch that is to be looked at.
struct AccessPoint {
  std::string key;
  std::int64_t rows = 0, V = 0;
  int k = 0;
};

/// What the point asks of the variant.
Problem problem_of_point(const Variant& v, const AccessPoint& a);

/// The points of the published table: every key of a backend that `keys` matches (patterns; empty: all), at
/// each V the variant can run. Top-k with k = 5.
std::vector<AccessPoint> access_points(Backend backend, const std::vector<std::string>& keys,
                                       const std::vector<std::int64_t>& V, std::int64_t rows);

/// Counts on the host executor. Throws std::runtime_error if a launch fails.
std::vector<AccessRecord> count_on_host(const std::vector<AccessPoint>& points);

/// The kernels whose launches stand before and after a point's in a profiler's table.
inline constexpr const char* kPointBegins = "assay_point_begins";
inline constexpr const char* kPointEnds = "assay_point_ends";
/// Launches them on the selected device; there is none in a build without CUDA.
void mark_point_begins();
void mark_point_ends();

/// The metrics to ask ncu for, as its --metrics takes them.
std::string ncu_metrics();

/// Reads what `ncu --csv --page raw --metrics ...` printed of a run over `points`, in their order, each
/// between its marks. Lines that are no CSV are skipped. Throws InputError naming the file where it holds
/// another number of points than asked, a point without a launch, or lacks a metric.
std::vector<AccessRecord> read_ncu(const std::filesystem::path& file, const std::vector<AccessPoint>& points,
                                   const std::string& gpu);

}  // namespace assay

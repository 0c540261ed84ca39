// What a kernel really loads and stores: one JSON line per key, shape and source of the counts. The host
// executor's counters are exact; a GPU's say what reached its L2 and its memory, and what held the kernel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// JSON names are the member names. "In elements": bytes / (rows V size of a logit), so that 1 is one access
/// of every logit. What the source can not count is null.
struct AccessRecord {
  std::string key;                                   // variant/dtype@backend
  std::optional<int> claimed_loads, claimed_stores;  // accesses an element, by the variant's claim
  std::string source;                                // "host counters" or "ncu"
  std::int64_t rows = 0, V = 0;
  int k = 0;  // 0 without top-k

  /// Elements loaded and stored from logits, outputs and workspace, per element of the row.
  std::optional<double> loads, stores;
  /// In elements: what the memory and the L2 moved.
  std::optional<double> dram_read, dram_write, l2_read, l2_write;

  std::optional<double> registers;            // a thread
  std::optional<double> local_bytes;          // read and written in local memory, per element of the row
  std::optional<double> occupancy;            // achieved, 0 to 1
  std::optional<double> sectors_per_request;  // of global loads: 4 for 32 neighbouring floats, 32 at worst
  std::optional<double> instructions_per_element;
  std::optional<double> issue_share, dram_share;  // of their peaks, 0 to 1
  std::optional<double> time_us;                  // of all launches, under the counters
  std::optional<int> kernels;                     // launches
  std::string gpu;
};

nlohmann::json to_json(const AccessRecord& r);
/// Throws InputError naming the field that is missing or of the wrong type.
AccessRecord access_record_from_json(const nlohmann::json& j);
/// The record's line, ended.
std::string access_line(const AccessRecord& r);

/// All records of a file, in order. Throws InputError naming the file and the line.
std::vector<AccessRecord> read_accesses(const std::filesystem::path& file);

}  // namespace assay

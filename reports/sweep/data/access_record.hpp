// SPDX-License-Identifier: Apache-2.0
// What a kernel really loads and stores: one JSON line per key, shape and source of the counts. The counters
// of the host executor are exact. Those of a GPU show what reached its L2 and its memory, and what limited
// the kernel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reference/ops.hpp"

namespace assay {

/// The names in JSON are the members' names. V: row length. A value "in elements" is
/// bytes / (rows * V * size of a logit), so 1 means one access of every logit. What the source cannot count
/// is null.
struct AccessRecord : CaseShape {
  std::string key;                                   // variant/dtype@backend
  std::optional<int> claimed_loads, claimed_stores;  // accesses per element that the variant claims
  std::string source;                                // "host counters" or "ncu"

  /// Elements loaded and stored from logits, outputs and workspace, per element of the row.
  std::optional<double> loads, stores;
  /// In elements: the traffic of the memory and of the L2.
  std::optional<double> dram_read, dram_write, l2_read, l2_write;

  std::optional<double> registers;            // per thread
  std::optional<double> local_bytes;          // read and written in local memory, per element of the row
  std::optional<double> occupancy;            // achieved, 0 to 1
  std::optional<double> sectors_per_request;  // of global loads: 4 for 32 neighbouring floats, 32 at worst
  std::optional<double> instructions_per_element;
  std::optional<double> issue_share, dram_share;  // shares of the peak, 0 to 1
  std::optional<double> time_us;                  // of all launches, measured with counters on
  std::optional<int> kernels;                     // number of launches
  std::string gpu;
};

nlohmann::json to_json(const AccessRecord& r);
/// Throws InputError that names the field if one is missing or has the wrong type.
AccessRecord access_record_from_json(const nlohmann::json& j);
/// The record as one line, with its line break.
std::string access_line(const AccessRecord& r);

/// All records of a file, in order. Throws InputError that names the file and the line.
std::vector<AccessRecord> read_accesses(const std::filesystem::path& file);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Records from a file, one at a time: a file of a million of them does not fit into memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "accuracy/record.hpp"

namespace assay {

/// Calls `take` with each record of a records.jsonl, or of a records.jsonl.gz, in the order of the file.
/// Lines are parsed by several threads (0: one per core); `take` is called by one of them at a time, and may
/// keep nothing of the record but copies. Returns the number of records. Throws InputError that names the
/// file, and the line where that is the fault.
std::int64_t for_each_record(const std::filesystem::path& file,
                             const std::function<void(const Record&)>& take, int threads = 0);

}  // namespace assay

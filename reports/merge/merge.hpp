// SPDX-License-Identifier: Apache-2.0
// Puts the parts of a run that many processes shared into one folder (`assay merge`).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "reports/data/outcome.hpp"

namespace assay {

struct Merged {
  std::string verb;                // "report"
  std::vector<int> statuses;       // the exit status of each part
  StatusCounts n;                  // of the facts of all parts
  bool in_part = false;            // most inputs of a part were too coarse to judge
  bool search = false;             // of fuzz, which keeps only what it found, and has no pages
  std::string first;               // the command that repeats the first failing fact
  std::vector<std::string> files;  // names of the files that were written; that of the facts is the first
  std::map<std::string, std::string> gpus;  // of timings, by backend
};

/// Parts are missing or did not end. The message has one line for each, with the command that makes it.
struct MissingParts {
  std::string text;
  std::int64_t missing = 0, count = 0;
};

/// `folders`: parts, or folders with parts in them (shard-0-of-4, ...). Writes the records of all parts, in
/// their order, into `out`, and copies what they refer to. Throws InputError if the parts are not of one run
/// or `out` is one of them, and MissingParts if one is missing; then nothing has been written.
Merged merge_parts(const std::vector<std::filesystem::path>& folders, const std::filesystem::path& out);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The end of a run for programs: one JSON object (--json), and a JUnit file (--junit) as build servers read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "reports/data/outcome.hpp"
#include "reports/data/report_data.hpp"

namespace assay {

/// A test case of a JUnit file: the records of one kernel, group and family.
struct VerdictCase {
  std::string suite, name;  // "online_block/f32@host", "shapes: normal_1"
  Status outcome = Status::pass;
  std::int64_t records = 1, bad = 0;
  std::string message = {}, reproduce = {};  // of the first record that is not a pass
};

inline Status outcome(const VerdictCase& c) { return c.outcome; }

struct VerdictDocument {
  std::string command;    // "check"
  std::string verdict;    // "PASS"
  std::string reason;     // one sentence
  std::string part = {};  // "part 0 of 8" if this is one part of a run (--shard)
  int exit_status = 0;
  double seconds = 0;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::pair<std::string, std::int64_t>> counts;  // "planned", "passed", ...
  std::vector<VerdictCase> cases;
  std::vector<std::filesystem::path> files;  // what the run has written
};

/// The sentence, which begins with the part if this is one: "part 0 of 8: all planned cases ran and passed".
std::string reason_of(const VerdictDocument& d);

/// Of check, report and grade.
VerdictDocument verdict_document(std::string command, const ReportData& data, int exit_status);

/// One object and a line break. RECORDS.md describes the fields.
std::string render_verdict_json(const VerdictDocument& d);

/// The first test case is the verdict of the run. It fails if the exit status is not 0, so that no file is
/// green after a run that was not.
std::string render_junit(const VerdictDocument& d);

}  // namespace assay

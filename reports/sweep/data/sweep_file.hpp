// SPDX-License-Identifier: Apache-2.0
// The growing file of a sweep. Each record is written whole as soon as it is there, so a stopped run loses
// only the configuration under way and those whose judgement is.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "reports/sweep/data/record.hpp"

namespace assay {

class SweepFile {
 public:
  /// Reads the file, if it exists, and cuts off a torn last line. Throws InputError that names the file.
  explicit SweepFile(std::filesystem::path file);

  /// Null if there is none.
  const SweepRecord* find(const std::string& identity) const;
  /// Appends a line. The record replaces an older one of the same configuration. Throws InputError if the
  /// file cannot be written.
  void add(const SweepRecord& r);
  /// One record per configuration, in the order in which each first occurred in the file.
  const std::vector<SweepRecord>& records() const { return records_; }
  /// Rewrites the file without the lines that later lines replaced.
  void compact() const;

 private:
  void keep(SweepRecord r);

  std::filesystem::path file_;
  std::vector<SweepRecord> records_;
  std::map<std::string, std::size_t> at_;
};

}  // namespace assay

// The growing file of a sweep: a record is on the disk, whole, before the next configuration begins.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "reports/sweep/data/record.hpp"

namespace assay {

class SweepFile {
 public:
  /// Reads what is there; a torn last line is cut off. Throws InputError naming the file.
  explicit SweepFile(std::filesystem::path file);

  /// Null if there is none.
  const SweepRecord* find(const std::string& identity) const;
  /// Appends a line and keeps the record in place of an older one. Throws InputError if it can not be
  /// written.
  void add(const SweepRecord& r);
  /// In order of their first line.
  const std::vector<SweepRecord>& records() const { return records_; }
  /// Writes every record once: no line that a later one replaced is left.
  void compact() const;

 private:
  void keep(SweepRecord r);

  std::filesystem::path file_;
  std::vector<SweepRecord> records_;
  std::map<std::string, std::size_t> at_;
};

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// A run that lies in a folder: its records, and what is known about it beside them.
#pragma once

#include <filesystem>
#include <memory>

#include "reports/data/digest.hpp"

namespace assay {

/// A run as its folder has it. Folders of older versions have no about.json: then the keys are described as
/// this program knows them, the environment is taken from summary.md and the contracts from contract.json.
class RecordedRun {
 public:
  /// Throws InputError that names the file that is missing or broken.
  RecordedRun(const std::filesystem::path& folder, const std::filesystem::path& records, int threads = 0);

  RecordedRun(const RecordedRun&) = delete;
  RecordedRun& operator=(const RecordedRun&) = delete;

  const Digest& digest() const { return *digest_; }

 private:
  ReportData about_;
  std::unique_ptr<Digest> digest_;
};

}  // namespace assay

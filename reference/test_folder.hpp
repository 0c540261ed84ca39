// SPDX-License-Identifier: Apache-2.0
// A folder that only one test process uses. ctest runs the tests of a file in parallel, and one machine may
// run the tests of several checkouts at once.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace assay {

/// Creates the folder, and removes it with all that it contains at the end.
class TestFolder {
 public:
  TestFolder() {
    std::string name = testing::TempDir() + "assay-test-XXXXXX";
    if (!mkdtemp(name.data())) throw std::runtime_error("no folder can be made in " + testing::TempDir());
    path_ = name;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace assay

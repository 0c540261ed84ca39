// SPDX-License-Identifier: Apache-2.0
// For the tests of Python callables: runs `assay check` on one, through the command line.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "kernels/python/python_test.hpp"
#include "reference/test_folder.hpp"
#include "reports/cli/commands.hpp"
#include "reports/data/compare.hpp"

namespace assay {

struct Checked {
  int status = 0;
  std::string out, err;
  std::vector<Record> records;
};

/// Runs `assay check WORDS --threads 1 --out FOLDER`.
inline Checked check_words(std::vector<std::string> words) {
  const TestFolder folder;
  words.insert(words.begin(), {"assay", "check"});
  words.insert(words.end(), {"--threads", "1", "--out", folder.path().string()});
  std::vector<const char*> argv;
  for (const std::string& w : words) argv.push_back(w.c_str());
  Checked c;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  c.status = run_assay(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  c.out = testing::internal::GetCapturedStdout();
  c.err = testing::internal::GetCapturedStderr();
  if (c.status == kPassed || c.status == kFailed) c.records = read_records(folder.path() / "records.jsonl");
  return c;
}

/// The same, with the Python interpreter of the tests.
inline Checked check_callable(const std::string& target, const std::string& more) {
  std::vector<std::string> words = {target, "--python", test_python()};
  std::istringstream in(more);
  for (std::string w; in >> w;) words.push_back(w);
  return check_words(words);
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// For tests of the command line: calls `assay` in this process, and returns its status and its output.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "reference/test_folder.hpp"
#include "reports/cli/commands.hpp"
#include "reports/data/files.hpp"
#include "reports/records/record_lines.hpp"

namespace assay::command_test {

struct Outcome {
  int status;
  std::string out, err;
};

/// The words of a command line, without quotes: "assay list --families" has three.
inline std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string w; in >> w;) words.push_back(w);
  return words;
}

/// The words with --seed 1, where the command would draw a seed: a test tries the same inputs every time.
/// `words` begin with the command.
inline std::vector<std::string> with_seed(std::vector<std::string> words) {
  constexpr const char* kDraw[] = {"check", "adopt", "fuzz", "verify"};
  const bool draws = !words.empty() && std::ranges::count(kDraw, words[0]) > 0;
  const bool merges = std::ranges::count(words, "--merge") > 0;
  const bool given = std::ranges::any_of(words, [](const std::string& w) { return w.starts_with("--seed"); });
  if (draws && !given && !merges) words.insert(words.begin() + 1, {"--seed", "1"});
  return words;
}

/// Calls `assay` with exactly these arguments.
inline Outcome call_as_typed(const std::vector<std::string>& words) {
  std::vector<const char*> argv = {"assay"};
  for (const std::string& w : words) argv.push_back(w.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = run_assay(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

/// Calls `assay` with these arguments, such as {"grade", "x.npy"}. An argument may contain spaces.
inline Outcome call_words(const std::vector<std::string>& words) { return call_as_typed(with_seed(words)); }

/// Calls a whole command line, such as "assay list --families".
inline Outcome call(const std::string& line) {
  std::vector<std::string> words = words_of(line);
  words.erase(words.begin());
  return call_words(words);
}

/// A test that works in a folder of its own.
class FolderTest : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return (own_.path() / name).string(); }
  /// Calls a command line, such as "check safe_block/f32@host", with --out and perhaps --shard.
  Outcome run(const std::string& line, const std::string& folder, const std::string& shard = "") const {
    std::vector<std::string> words = words_of(line);
    words.insert(words.end(), {"--out", at(folder)});
    if (!shard.empty()) words.insert(words.end(), {"--shard", shard});
    return call_words(words);
  }
  std::vector<std::string> lines(const std::string& file) const {
    std::vector<std::string> all;
    std::istringstream in(read_file(at(file)));
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  /// The records in a folder in the order of the alphabet, without what the first says of the run.
  std::vector<std::string> records(const std::string& folder) const {
    std::vector<std::string> all = lines(folder + "/records.jsonl");
    for (std::string& line : all) line = without_run(line);
    std::sort(all.begin(), all.end());
    return all;
  }
  const TestFolder own_;
};

}  // namespace assay::command_test

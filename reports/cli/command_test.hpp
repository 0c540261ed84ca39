// SPDX-License-Identifier: Apache-2.0
// For tests of the command line: calls `assay` in this process, and returns its status and its output.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "reports/cli/commands.hpp"

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

}  // namespace assay::command_test

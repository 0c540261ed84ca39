// SPDX-License-Identifier: Apache-2.0
// For tests: runs the real command in a process of its own, which may be killed.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/isolation/process/child.hpp"
#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/files.hpp"

namespace assay::process_test {

/// A file for `assay check FILE --entry by_four --host`: right, and it refuses rows whose length is no
/// multiple of 4. Nobody declares that, so the exit status is 4.
inline constexpr const char* kByFour =
    "#include <cmath>\n"
    "int by_four(const float* in, float* out, int rows, int V) {\n"
    "  if (V % 4 != 0) return 1;\n"
    "  for (int r = 0; r < rows; ++r) {\n"
    "    const float* x = in + (long)r * V;\n"
    "    float *y = out + (long)r * V, m = -INFINITY, d = 0;\n"
    "    for (int j = 0; j < V; ++j) m = fmaxf(m, x[j]);\n"
    "    for (int j = 0; j < V; ++j) d += expf(x[j] - m);\n"
    "    for (int j = 0; j < V; ++j) y[j] = expf(x[j] - m) / d;\n"
    "  }\n"
    "  return 0;\n"
    "}\n";

inline bool has_command() { return std::filesystem::exists(ASSAY_COMMAND); }

struct Finished {
  int status = -1;  // the exit status; -1 if a signal ended it
  int signal = 0;
  std::string out, err;
};

/// Starts a program, with these settings before those of this process.
inline pid_t start(const std::vector<std::string>& words, std::vector<std::string> settings,
                   const std::string& out, const std::string& err) {
  const std::size_t own = settings.size();
  for (char** e = environ; *e; ++e) {
    const std::string name = std::string(*e).substr(0, std::string(*e).find('=') + 1);
    const bool replaced = std::any_of(settings.begin(), settings.begin() + static_cast<std::ptrdiff_t>(own),
                                      [&](const std::string& s) { return s.starts_with(name); });
    if (!replaced) settings.emplace_back(*e);
  }
  const int to[] = {open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644),
                    open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
  pid_t pid = -1;
  EXPECT_EQ(
      isolation::start(
          {.words = words, .environment = std::move(settings), .descriptors = {{to[0], 1}, {to[1], 2}}}, pid),
      0)
      << words[0];
  for (const int file : to) close(file);
  return pid;
}

inline Finished wait_for(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  Finished e;
  if (WIFEXITED(status)) e.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) e.signal = WTERMSIG(status);
  return e;
}

/// Runs `assay` with exactly these words to its end.
inline Finished run_as_typed(std::vector<std::string> words, const std::vector<std::string>& settings = {}) {
  const TestFolder folder;
  words.insert(words.begin(), ASSAY_COMMAND);
  const std::string out = (folder.path() / "out").string(), err = (folder.path() / "err").string();
  Finished e = wait_for(start(words, settings, out, err));
  e.out = read_file(out);
  e.err = read_file(err);
  return e;
}

/// The same, with --seed 1 where the command would draw a seed.
inline Finished run(const std::vector<std::string>& words, const std::vector<std::string>& settings = {}) {
  return run_as_typed(command_test::with_seed(words), settings);
}

}  // namespace assay::process_test

// SPDX-License-Identifier: Apache-2.0
// --json and --junit: the answer of a command for programs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/terminal/verdict_document.hpp"

namespace CLI {
class App;
}

namespace assay {

struct AnswerOptions {
  bool json = false;
  std::string junit;  // a file; empty: none
};

void add_answer_options(CLI::App& command, AnswerOptions& o);
/// From now on this process also writes the JSON of its answers here, whether --json is given or not.
void copy_answers_to(int descriptor);
/// For a call that only lists something. Throws InputError that names `option` if an answer is asked for.
void refuse_answer(const AnswerOptions& o, const std::string& option);

/// Lives as long as the command works. With --json everything that is printed meanwhile goes to standard
/// error, what a kernel prints included, so that standard output holds nothing but the answer.
class VerdictOutput {
 public:
  /// Removes an older JUnit file: none is left if the command does not come to its end.
  explicit VerdictOutput(const AnswerOptions& o);
  ~VerdictOutput();
  VerdictOutput(const VerdictOutput&) = delete;
  VerdictOutput& operator=(const VerdictOutput&) = delete;

  /// Writes the JUnit file, prints the JSON, and returns the document's exit status. `files`: what the
  /// command has written in its folder.
  int give(VerdictDocument d, const std::filesystem::path& folder, const std::vector<std::string>& files);

 private:
  void restore();

  AnswerOptions options_;
  int stdout_ = -1;  // a copy of standard output while it is diverted
};

}  // namespace assay

namespace assay {

// Colour of verdicts on a terminal.

/// Whether what is written to `descriptor` may have colour: it is a terminal, and neither NO_COLOR
/// (no-color.org) nor TERM=dumb says otherwise.
bool wants_colour(int descriptor);

/// The text with the verdict that begins a line in colour: PASS green, FAIL red, every other one yellow.
std::string coloured(const std::string& text);

/// Prints to standard output; in colour where wants_colour.
void print_verdict(const std::string& text);

}  // namespace assay

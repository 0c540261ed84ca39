// SPDX-License-Identifier: Apache-2.0
#include "reports/terminal/answer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "kernels/isolation/shared/plain_text.hpp"
#include "reference/error.hpp"
#include "reports/data/files.hpp"
#include "reports/data/outcome.hpp"
#include "reports/data/say.hpp"

namespace assay {

namespace fs = std::filesystem;

void add_answer_options(CLI::App& command, AnswerOptions& o) {
  command.add_flag("--json", o.json,
                   "print the verdict as one JSON object, and everything else to standard error");
  command.add_option("--junit", o.junit,
                     "also write the verdict to this file, as JUnit's XML for build servers");
}

void refuse_answer(const AnswerOptions& o, const std::string& option) {
  if (o.json || !o.junit.empty())
    throw InputError(option + ": only lists, and has no verdict: leave out --json and --junit");
}

namespace {

int copy_of_answers = -1;

/// A JUnit file of an earlier run must not be read as the verdict of this one. Nothing else is removed.
void remove_old(const fs::path& file, const std::string& name) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(file, error)))
    throw InputError("--junit " + name + ": is no ordinary file");
  std::string head(512, '\0');
  std::ifstream in(file);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in.gcount()));
  if (!head.empty() && head.find("<testsuite") == std::string::npos)
    throw InputError("--junit " + name + ": is a file of another kind, which stays as it is");
  fs::remove(file, error);
  if (error) throw InputError("--junit " + name + ": cannot be removed: " + error.message());
}

}  // namespace

void copy_answers_to(int descriptor) { copy_of_answers = descriptor; }

VerdictOutput::VerdictOutput(const AnswerOptions& o) : options_(o) {
  if (const fs::path file = o.junit; !file.empty()) {
    std::error_code ignored;
    const fs::path folder = file.parent_path();
    if (!folder.empty() && !fs::is_directory(folder, ignored))
      throw InputError("--junit " + o.junit + ": no such folder: " + folder.string());
    if (fs::is_directory(file, ignored)) throw InputError("--junit " + o.junit + ": is a folder");
    if (fs::exists(file, ignored)) remove_old(file, o.junit);
  }
  if (!o.json) return;
  std::fflush(stdout);
  stdout_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (stdout_ >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
}

VerdictOutput::~VerdictOutput() { restore(); }

void VerdictOutput::restore() {
  if (stdout_ < 0) return;
  std::fflush(stdout);
  dup2(stdout_, STDOUT_FILENO);
  close(stdout_);
  stdout_ = -1;
}

int VerdictOutput::give(VerdictDocument d, const fs::path& folder, const std::vector<std::string>& files) {
  for (const std::string& file : files) d.files.push_back(folder / file);
  if (!options_.junit.empty()) d.files.push_back(options_.junit);
  if (!options_.junit.empty()) write_files({{options_.junit, render_junit(d)}});
  restore();
  if (options_.json || copy_of_answers >= 0) {
    const std::string text = render_verdict_json(d);
    if (options_.json) write_plain(stdout, text);
    if (copy_of_answers >= 0) dprintf(copy_of_answers, "%s", isolation::plain_text(text).c_str());
  }
  return d.exit_status;
}

namespace {

constexpr std::string_view kGreen = "\033[1;32m", kRed = "\033[1;31m", kYellow = "\033[1;33m",
                           kEnd = "\033[0m";

std::string painted(std::string_view line) {
  const std::optional<Verdict> v = verdict_that_begins(line);
  if (!v) return std::string(line);
  const std::string_view word = name(*v);
  const bool wrong = *v == Verdict::fail || *v == Verdict::not_covered;
  return fmt::format("{}{}{}{}",
                     *v == Verdict::pass ? kGreen
                     : wrong             ? kRed
                                         : kYellow,
                     word, kEnd, line.substr(word.size()));
}

}  // namespace

bool wants_colour(int descriptor) {
  const char* const no = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  return isatty(descriptor) != 0 && !(no && *no) && term && std::string_view(term) != "dumb";
}

std::string coloured(const std::string& text) {
  std::string out;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    out += painted(rest.substr(0, end));
    if (end == rest.npos) break;
    out += '\n';
    rest.remove_prefix(end + 1);
  }
  return out;
}

void print_verdict(const std::string& text) {
  const std::string plain = isolation::plain_text(text);
  const std::string shown = wants_colour(STDOUT_FILENO) ? coloured(plain) : plain;
  std::fwrite(shown.data(), 1, shown.size(), stdout);
}

}  // namespace assay

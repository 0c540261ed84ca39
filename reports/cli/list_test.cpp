// SPDX-License-Identifier: Apache-2.0
// What `assay list` names is what other files name.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "reference/problem.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/files.hpp"

namespace assay {
namespace {

std::set<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::set<std::string> words;
  for (std::string word; in >> word;) words.insert(word);
  return words;
}

/// The words of the line that begins so.
std::set<std::string> words_behind(const std::string& text, const std::string& begin,
                                   const std::string& end) {
  const std::size_t at = text.find(begin);
  if (at == text.npos) return {};
  const std::size_t from = at + begin.size();
  return words_of(text.substr(from, text.find(end, from) - from));
}

TEST(List, NamesEveryOperationAndWhatItWrites) {
  const command_test::Outcome o = command_test::call("assay list --ops");
  EXPECT_EQ(o.status, kPassed);
  std::istringstream lines(o.out);
  std::string line;
  std::getline(lines, line);
  std::set<std::string> ops, writes;
  while (std::getline(lines, line) && line.find(" operations") == line.npos) {
    const std::size_t blank = line.find(' ');
    ops.insert(line.substr(0, blank));
    writes.insert(line.substr(line.find_first_not_of(' ', blank)));
  }
  std::set<std::string> known;
  for (const Op op : kOps) known.insert(name(op));
  EXPECT_EQ(ops, known);
  EXPECT_EQ(writes.size(), known.size()) << "two operations are told alike";
}

TEST(List, OperationsOfCMakeAreThoseOfTheCommand) {
  const std::filesystem::path file = std::filesystem::path(ASSAY_SOURCE_DIR) / "cmake/assayVariant.cmake";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no source tree beside this binary";
  std::set<std::string> known;
  for (const Op op : kOps) known.insert(name(op));
  EXPECT_EQ(words_behind(read_file(file), "set(kinds ", ")"), known);
}

}  // namespace
}  // namespace assay

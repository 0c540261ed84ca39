// SPDX-License-Identifier: Apache-2.0
// What `assay list` names is what other files name.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>
#include <utility>

#include "accuracy/reproduce.hpp"
#include "kernels/plugin.h"
#include "reference/problem.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/files.hpp"

namespace assay {
namespace {

std::set<std::string> words_of(const std::string& text) {
  std::string plain = text;
  for (char& c : plain)
    if (std::strchr("\",()|", c)) c = ' ';
  std::istringstream in(plain);
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
  for (const OpInfo& one : kOpTable) known.insert(one.name);
  EXPECT_EQ(ops, known);
  EXPECT_EQ(writes.size(), known.size()) << "two operations are told alike";
}

/// The names of the ops that `chosen` takes.
std::set<std::string> ops_that(bool (*chosen)(Op)) {
  std::set<std::string> names;
  for (const OpInfo& o : kOpTable)
    if (chosen(o.op)) names.insert(o.name);
  return names;
}

TEST(List, OtherListsOfOperationsAreThoseOfTheTable) {
  const std::filesystem::path tree = ASSAY_SOURCE_DIR;
  if (!std::filesystem::exists(tree / "README.md")) GTEST_SKIP() << "no source tree beside this binary";
  const auto text = [&](const char* file) { return read_file(tree / file); };
  const std::set<std::string> all = ops_that([](Op) { return true; });
  EXPECT_EQ(words_behind(text("cmake/assayVariant.cmake"), "set(kinds ", ")"), all);
  // A backward pass is not declared there.
  EXPECT_EQ(words_behind(text("kernels/adapter/variant.h"), "kNames[] = {", "}"),
            ops_that([](Op op) { return op != Op::softmax_backward; }));
  const std::string reader = text("kernels/python/worker/reader.py");
  EXPECT_EQ(words_behind(reader, "SELECTING = (", ")"), ops_that(selects));
  EXPECT_EQ(words_behind(reader, "KEEPING = (", ")"), ops_that(keeps_a_set));
}

TEST(List, NumbersOfPluginsAreThoseOfTheTable) {
  const std::pair<Op, int> numbers[] = {{Op::softmax, ASSAY_SOFTMAX},
                                        {Op::log_softmax, ASSAY_LOG_SOFTMAX},
                                        {Op::lse, ASSAY_LSE},
                                        {Op::normalizer, ASSAY_NORMALIZER},
                                        {Op::topk, ASSAY_TOPK},
                                        {Op::softmax_topk, ASSAY_SOFTMAX_TOPK},
                                        {Op::softmax_backward, ASSAY_SOFTMAX_BACKWARD},
                                        {Op::topk_softmax, ASSAY_TOPK_SOFTMAX},
                                        {Op::min_p, ASSAY_MIN_P},
                                        {Op::top_p, ASSAY_TOP_P},
                                        {Op::log_softmax_topk, ASSAY_LOG_SOFTMAX_TOPK}};
  EXPECT_EQ(std::size(numbers), std::size(kOpTable));
  for (const auto& [op, number] : numbers) EXPECT_EQ(static_cast<int>(op), number) << name(op);
}

TEST(List, EveryNumberOfAnOperationIsAnOption) {
  for (const char* command : {"assay check --help", "assay report --help"}) {
    const std::string help = command_test::call(command).out;
    for (const OpInfo& op : kOpTable)
      for (const SizeInfo& size : op.sizes)
        EXPECT_NE(help.find("\n  " + option_of(size) + " "), help.npos) << command << ": " << size.name;
  }
}

TEST(List, TypesOfCMakeAreThoseThatAreJudged) {
  const std::filesystem::path file = std::filesystem::path(ASSAY_SOURCE_DIR) / "cmake/assayVariant.cmake";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no source tree beside this binary";
  EXPECT_EQ(words_behind(read_file(file), "NOT dtype MATCHES \"^(", ")$"), words_of(names_of_judged()));
}

}  // namespace
}  // namespace assay

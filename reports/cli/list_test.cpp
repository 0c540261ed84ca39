// SPDX-License-Identifier: Apache-2.0
// What `assay list` names is what other files name.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>
#include <utility>

#include "accuracy/reproduce.hpp"
#include "kernels/adapter/parts.h"
#include "kernels/plugin.h"
#include "reference/error.hpp"
#include "reference/operand_table.hpp"
#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/cli/commands.hpp"
#include "reports/data/files.hpp"
#include "reports/data/functions_report.hpp"
#include "reports/page/test_data.hpp"
#include "reports/runs/oracle_speed_data.hpp"

namespace assay {
namespace {

std::set<std::string> set_of_words(const std::string& text) {
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
  return set_of_words(text.substr(from, text.find(end, from) - from));
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

#define ASSAY_PART(part) #part,
TEST(List, OtherListsOfOperandsAreThoseOfTheTable) {
  const std::filesystem::path tree = ASSAY_SOURCE_DIR;
  if (!std::filesystem::exists(tree / "README.md")) GTEST_SKIP() << "no source tree beside this binary";
  const auto text = [&](const char* file) { return read_file(tree / file); };
  const std::set<std::string> parts = {ASSAY_PARTS(ASSAY_PART)};
  const std::string page = text("accuracy/bounds/OPERANDS.md");
  std::set<std::string> numbers = {"threshold"}, words;
  for (const OperandInfo& o : kOperandTable) {
    EXPECT_EQ(o.number != nullptr, o.holds == OperandHolds::number) << o.name;
    words.insert(o.name + std::string(o.holds == OperandHolds::mask       ? ":T"
                                      : o.holds == OperandHolds::bias     ? ":D"
                                      : o.holds == OperandHolds::integers ? ":I"
                                                                          : ""));
    if (o.number) numbers.insert(o.name);
    // Temperatures have the role of a temperature.
    if (o.part == operand::temperatures) continue;
    EXPECT_TRUE(parts.contains(o.name)) << o.name;
    EXPECT_NE(page.find("`" + std::string(o.name) + "`"), page.npos) << o.name;
  }
  const std::string plugin = text("kernels/plugin.h");
  EXPECT_EQ(words_behind(plugin, "separated by spaces:\n   *  ", "\n"), words);
  std::set<std::string> of_call;
#define ASSAY_NUMBER(name, usual) of_call.insert(#name);
  ASSAY_CALL_NUMBERS(ASSAY_NUMBER)
#undef ASSAY_NUMBER
  EXPECT_EQ(of_call, numbers);
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
  EXPECT_EQ(words_behind(read_file(file), "NOT dtype MATCHES \"^(", ")$"), set_of_words(names_of_judged()));
}

// The oracle's speed from command line to page: numbers add up, files are read back, wrong calls are refused.

int call(std::vector<const char*> words) {
  words.insert(words.begin(), "assay");
  return run_assay(static_cast<int>(words.size()), words.data());
}

const std::filesystem::path& folder() {
  static const TestFolder own;
  return own.path();
}

TEST(OracleSpeed, GoesFromTheCommandToThePage) {
  const std::string out = folder().string();
  ASSERT_EQ(call({"sweep", "oracle", "--key", "safe_block/f32@host", "--V", "1000", "--rows", "4", "--out",
                  out.c_str()}),
            kPassed);
  const OracleSpeedData d = read_oracle_speed(folder() / "oracle.json");
  ASSERT_GE(d.rows.size(), 2u);
  EXPECT_EQ(d.family, "normal_1");
  EXPECT_EQ(d.rows[0].tier, "mpfr");
  for (const OracleSpeedRow& r : d.rows) {
    EXPECT_EQ(r.key, "safe_block/f32@host");
    EXPECT_EQ(r.V, 1000);
    EXPECT_EQ(r.failed, 0);
    EXPECT_GT(r.elements_per_second, 0);
  }
  ReportData data;
  data.oracle = d;
  const std::string page = test_data::page_of(data, "compare.html");
  EXPECT_NE(page.find("id=\"oracle\""), std::string::npos);
  EXPECT_NE(page.find("safe_block/f32@host"), std::string::npos);
}

TEST(OracleSpeed, RefusesFilesThatAreNotItsOwn) {
  write_files({{folder() / "oracle.json", "{\"family\": 3}"}});
  EXPECT_THROW(read_oracle_speed(folder() / "oracle.json"), InputError);
  EXPECT_THROW(read_oracle_speed(folder() / "none.json"), InputError);
}

// assay functions: what it prints, writes and refuses, and its section of the page.

namespace fs = std::filesystem;

using command_test::call;
using command_test::Outcome;

TEST(FunctionsCommand, PrintsTheVerdictFirstAndWritesWhatItFound) {
  const fs::path folder = fs::temp_directory_path() / ("assay-functions-" + std::to_string(::getpid()));
  const Outcome o =
      call("assay functions --function hexp expf --backend host --stride 99991 --threads 1 --out " +
           folder.string());
  EXPECT_EQ(o.status, kPassed) << o.out << o.err;
  EXPECT_TRUE(o.out.starts_with("PASS: 3 functions, 2 of them on every argument")) << o.out;
  EXPECT_NE(o.out.find("* a sample"), std::string::npos);
  const FunctionsReport r = read_functions(folder / "functions.json");
  ASSERT_EQ(r.functions.size(), 3u);
  EXPECT_EQ(r.functions[0].id(), "expf/f32@host");
  EXPECT_EQ(r.functions[0].stride, 99991);
  EXPECT_EQ(r.functions[1].inputs, 65536);
  EXPECT_EQ(render_functions_json(r), read_file(folder / "functions.json"));

  ReportData data;
  data.functions = r;
  EXPECT_NE(test_data::page_of(data, "compare.html").find("Functions that kernels build on"),
            std::string::npos);
  data.functions.reset();
  EXPECT_EQ(test_data::page_of(data, "compare.html").find("Functions that kernels build on"),
            std::string::npos);
  fs::remove_all(folder);
}

TEST(FunctionsCommand, FailsWhereAFunctionFailsOrNothingRan) {
  FunctionsReport r;
  EXPECT_FALSE(functions_passed(r));
  EXPECT_EQ(functions_word(r), "NOT RUN");
  r.functions.resize(1);
  r.functions[0].status = Status::not_run;
  EXPECT_FALSE(functions_passed(r));
  r.functions[0].status = Status::pass;
  EXPECT_TRUE(functions_passed(r));
  EXPECT_EQ(functions_word(r), "PASS");
  // 2^28 pairs of f32 numbers are many, and not all.
  r.functions[0].dtype = "f32", r.functions[0].inputs = std::int64_t{1} << 28;
  EXPECT_EQ(functions_verdict(r),
            "1 functions, 0 of them on every argument, 268,435,456 values; 1 divisions on drawn pairs");
  r.functions[0].inputs = std::int64_t{1} << 32;
  EXPECT_TRUE(on_every_argument(r.functions[0]));
  r.pairs.resize(1);
  r.pairs[0].status = Status::fail;
  r.pairs[0].reason = "<element>";
  EXPECT_FALSE(functions_passed(r));
  const std::string page = render_functions_page(r);
  EXPECT_NE(page.find("FAIL"), std::string::npos);
  EXPECT_EQ(page.find("<element>"), std::string::npos) << "text is escaped";
  EXPECT_EQ(test_html::unbalanced(page), "");
  EXPECT_EQ(test_html::foreign_address(page), "");
  EXPECT_TRUE(render_functions_terminal(r, "").starts_with("FAIL"));
}

}  // namespace
}  // namespace assay

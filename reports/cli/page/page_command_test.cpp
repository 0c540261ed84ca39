// SPDX-License-Identifier: Apache-2.0
// assay page: the pages of a folder from its records are those of the run; links lead to every page.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "accuracy/record.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/files.hpp"
#include "reports/page/folder/write_report.hpp"
#include "reports/page/test_data.hpp"
#include "reports/sweep/data/test_data.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using namespace command_test;
using namespace test_data;

std::string lines_of(const ReportData& data) {
  std::string out;
  for (const Record& r : data.records) out += to_json(r).dump() + "\n";
  return out;
}

class PageCommand : public FolderTest {
 protected:
  /// Every page of the folder, by its name there.
  std::map<std::string, std::string> pages() const {
    std::map<std::string, std::string> out;
    for (const auto& e : fs::recursive_directory_iterator(folder_))
      if (e.path().extension() == ".html")
        out[fs::relative(e.path(), folder_).string()] = read_file(e.path());
    return out;
  }
  const fs::path folder_ = own_.path();
};

TEST_F(PageCommand, MakesThePagesOfTheRunAgain) {
  ReportData data = synthetic(1, {"host"});
  data.contracts["safe_block/f32@host"].found = "max_V=1024";
  data.contracts["safe_block/f32@host"].axes = {
      {"row length", conformance::Axis::State::found, "at most 1024", "V = 1056: an error"}};
  break_one(data);
  write_report(folder_, data, {{"records.jsonl", lines_of(data)}});
  const auto first = pages();
  ASSERT_EQ(first.size(), 2 + kVariants.size());
  const std::string summary = read_file(folder_ / "summary.md");
  for (const auto& [name, html] : first) write_files({{folder_ / name, "gone"}});
  const Outcome o = command_test::call("assay page " + folder_.string());
  EXPECT_EQ(o.status, kPassed) << o.err;
  EXPECT_EQ(o.out, "page: " + (folder_ / "index.html").string() + "\n");
  EXPECT_EQ(pages(), first);
  EXPECT_EQ(read_file(folder_ / "summary.md"), summary);
}

TEST_F(PageCommand, LinksAKernelOfTheSweepToItsPage) {
  std::string sweep;
  for (const SweepRecord& r : sweep_test_data::records({"f32"}, {4000})) sweep += fact_line(r);
  write_report(folder_, synthetic(1, {"host"}), {{"records.jsonl", lines_of(synthetic(1, {"host"}))}});
  write_files({{folder_ / "sweep.jsonl", sweep}});
  EXPECT_EQ(command_test::call("assay page " + folder_.string()).status, kPassed);
  const std::string html = read_file(folder_ / "sweep.html");
  ASSERT_TRUE(fs::exists(folder_ / "kernels/online_block.html"));
  EXPECT_NE(html.find("<a href=\"kernels/online_block.html\">online_block</a>"), std::string::npos);
  EXPECT_EQ(html.find("kernels/triton_row.html"), std::string::npos) << "a peer has no page";
}

TEST_F(PageCommand, MakesPagesOfAFolderThatHasOnlyRecords) {
  ReportData data = synthetic(1, {"host"});
  write_files(
      {{folder_ / "records.jsonl", lines_of(data)},
       {folder_ / "summary.md",
        "# x\n\n## Environment\n\n| | |\n|---|---|\n| GPU | H\\|100 &lt;x&gt; |\n\n## Y\n| a | b |\n"}});
  EXPECT_EQ(command_test::call("assay page " + folder_.string() + " --threads 2").status, kPassed);
  const std::string index = read_file(folder_ / "index.html");
  EXPECT_NE(index.find("<b>PASS</b>"), std::string::npos);
  EXPECT_NE(index.find("<tr><th>GPU</th><td>H|100 &lt;x&gt;</td></tr>"), std::string::npos);
  EXPECT_EQ(index.find("<td>b</td>"), std::string::npos);
  // A key of this program is described as it knows it.
  EXPECT_NE(read_file(folder_ / "kernels/safe_block.html").find("softmax: safe, exp accurate"),
            std::string::npos);
}

TEST_F(PageCommand, RecordsThatAreGoneDidNotRun) {
  const ReportData data = synthetic(1, {"host"});
  const std::string lines = lines_of(data);
  const std::string cut = lines.substr(0, lines.rfind('\n', lines.size() - 2) + 1);
  ASSERT_FALSE(cut.empty());
  write_report(folder_, data, {{"records.jsonl", lines}});
  ASSERT_NE(read_file(folder_ / "index.html").find("<b>PASS</b>"), std::string::npos);
  write_files({{folder_ / "records.jsonl", cut}});
  EXPECT_EQ(command_test::call("assay page " + folder_.string()).status, kPassed);
  EXPECT_EQ(read_file(folder_ / "index.html").find("<b>PASS</b>"), std::string::npos);
  EXPECT_NE(read_file(folder_ / "summary.md").find("did not run"), std::string::npos);
}

TEST_F(PageCommand, OfAnOlderFolderCasesThatWereLostDidNotRun) {
  ReportData data = synthetic(1, {"host"});
  Record& lost = data.records.back();
  lost.status = Status::not_run;
  lost.reason = "load: lost to the machine's load";
  write_files({{folder_ / "records.jsonl", lines_of(data)}});
  EXPECT_EQ(command_test::call("assay page " + folder_.string()).status, kPassed);
  EXPECT_EQ(read_file(folder_ / "index.html").find("<b>PASS</b>"), std::string::npos);
  const std::string page = read_file(folder_ / "kernels" / (lost.variant + ".html"));
  EXPECT_EQ(page.find("<b>PASS</b>"), std::string::npos);
  EXPECT_NE(page.find("INCOMPLETE"), std::string::npos);
}

TEST_F(PageCommand, LinksEveryPageWithEveryOther) {
  const ReportData data = synthetic(1, {"host"});
  write_files({{folder_ / "sweep.html", "<main>\n<!--pages--><!--/pages--></main>"},
               {folder_ / "foreign.html", "<p>of somebody else</p>"}});
  write_report(folder_, data, {{"records.jsonl", lines_of(data)}});
  const auto all = pages();
  std::set<std::string> names;
  for (const auto& [name, html] : all) names.insert(name), names.insert("../" + name);
  for (const auto& [name, html] : all) {
    if (name == "foreign.html") continue;
    EXPECT_EQ(test_html::foreign_address(html, names), "") << name;
    const std::string up = name.starts_with("kernels/") ? "../" : "";
    for (const char* other : {"index.html", "compare.html", "sweep.html"})
      EXPECT_NE(html.find("<a href=\"" + up + other + "\""), std::string::npos) << name << " to " << other;
    EXPECT_EQ(test_html::occurrences(html, "aria-current=\"page\""), up.empty() ? 1 : 0) << name;
  }
  EXPECT_EQ(all.at("foreign.html"), "<p>of somebody else</p>");
  for (const std::string& variant : kVariants)
    EXPECT_NE(all.at("index.html").find("<a href=\"kernels/" + variant + ".html\">"), std::string::npos);
  // A second call changes nothing.
  link_pages(folder_);
  EXPECT_EQ(pages(), all);
}

TEST_F(PageCommand, LinksACheckInItsOwnFolderBothWays) {
  write_report(folder_, synthetic(1, {"host"}), {});
  write_report(folder_ / "check", synthetic(1, {"host"}), {});
  link_pages(folder_);
  const auto has = [&](const fs::path& page, const std::string& address) {
    return read_file(folder_ / page).find("<a href=\"" + address + "\"") != std::string::npos;
  };
  EXPECT_TRUE(has("index.html", "check/index.html"));
  EXPECT_TRUE(has("kernels/safe_block.html", "../check/index.html"));
  EXPECT_TRUE(has("check/index.html", "../index.html"));
  EXPECT_TRUE(has("check/kernels/safe_block.html", "../../index.html"));
  EXPECT_FALSE(has("index.html", "../index.html"));
}

TEST_F(PageCommand, RemovesThePagesOfKernelsThatAreNotInTheReport) {
  write_report(folder_, synthetic(1, {"host"}), {});
  write_files({{folder_ / "kernels/notes.html", "mine"}});
  ReportData one = synthetic(1, {"host"});
  std::erase_if(one.keys, [](const KeyInfo& k) { return k.variant != "safe_block"; });
  std::erase_if(one.records, [](const Record& r) { return r.variant != "safe_block"; });
  write_report(folder_, one, {});
  std::set<std::string> left;
  for (const auto& [name, html] : pages()) left.insert(name);
  EXPECT_EQ(left, (std::set<std::string>{"compare.html", "index.html", "kernels/notes.html",
                                         "kernels/safe_block.html"}));
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The kill matrix: what counts as passed. Its page and data must hold every entry.
#include "reports/runs/selftest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/cli/commands.hpp"
#include "reports/data/files.hpp"
#include "reports/data/html.hpp"
#include "reports/page/test_data.hpp"

namespace assay {
namespace {

using test_data::all_well;
SelftestEntry& first(Selftest& s, Kind kind) {
  return *std::find_if(s.entries.begin(), s.entries.end(),
                       [&](const SelftestEntry& e) { return e.mutant->kind == kind; });
}

TEST(Selftest, PassesOnlyIfEverythingIsAsExpected) {
  EXPECT_TRUE(selftest_passed(all_well()));
  EXPECT_FALSE(selftest_passed(Selftest{})) << "nothing ran";
  for (const Kind kind : {Kind::fault, Kind::cheat, Kind::right}) {
    Selftest s = all_well();
    first(s, kind).refused = kind == Kind::right;
    EXPECT_FALSE(selftest_passed(s)) << name(kind);
    const std::string text = render_selftest_terminal(s, "");
    EXPECT_EQ(text.rfind("FAIL", 0), 0u);
    EXPECT_NE(text.find(std::string("assay selftest --key ") + first(s, kind).mutant->fault),
              std::string::npos);
    EXPECT_NE(render_selftest_page(s).find("class=\"verdict fail\""), std::string::npos);
  }
  Selftest none = all_well();
  for (SelftestEntry& e : none.entries) e.ran = false;
  EXPECT_FALSE(selftest_passed(none));
}

TEST(Selftest, ThePageAndTheDataHoldEveryEntry) {
  const Selftest s = all_well();
  const std::string page = render_selftest_page(s), text = render_selftest_terminal(s, "");
  EXPECT_EQ(test_html::unbalanced(page), "");
  EXPECT_EQ(test_html::foreign_address(page), "");
  EXPECT_GE(s.entries.size(), 200u);
  for (const SelftestEntry& e : s.entries) {
    EXPECT_NE(page.find(std::string("<code>") + e.mutant->fault + "</code>"), std::string::npos)
        << e.mutant->fault;
    EXPECT_NE(text.find(e.mutant->fault), std::string::npos) << e.mutant->fault;
  }
  for (const CatalogueEntry& e : catalogue())
    EXPECT_NE(page.find(escape(e.missing)), std::string::npos) << e.id;
  std::istringstream lines(render_selftest_json_lines(s));
  std::size_t n = 0;
  for (std::string line; std::getline(lines, line); ++n)
    EXPECT_EQ(nlohmann::json::parse(line).at("entry"), s.entries[n].mutant->fault);
  EXPECT_EQ(n, s.entries.size());
}

TEST(Selftest, ThePageIsMadeAgainFromTheData) {
  Selftest s = all_well();
  s.environment = {{"CPU", "two cores"}};
  s.seconds = 2.5;
  SelftestEntry &not_run = first(s, Kind::fault), &survived = *(&not_run + 1),
                &refused = first(s, Kind::right);
  not_run.ran = false, not_run.detail = "no GPU", not_run.failed.clear(), not_run.refused = false;
  survived.refused = false, survived.failed.clear();
  refused.refused = true, refused.failed = {"element"};
  first(s, Kind::cheat).usual = {true, false, true};
  const TestFolder folder;
  const std::filesystem::path file = folder.path() / "selftest.jsonl";
  write_files({{file, render_selftest_json_lines(s)}});
  EXPECT_EQ(render_selftest_page(read_selftest(file)), render_selftest_page(s));
  EXPECT_EQ(command_test::call("assay page " + folder.path().string()).status, kPassed);
  EXPECT_EQ(read_file(folder.path() / "selftest.html"), render_selftest_page(s));

  std::string text = read_file(file);
  text.replace(text.find(s.entries[2].mutant->fault), std::string(s.entries[2].mutant->fault).size(),
               "unheard_of");
  write_files({{file, text}});
  const command_test::Outcome o = command_test::call("assay page " + folder.path().string());
  EXPECT_EQ(o.status, kBadCall);
  EXPECT_NE(o.err.find("selftest.jsonl: line 3: this build has no entry"), std::string::npos) << o.err;
  // Those of a GPU that this build has not are shown as the line tells them.
  const std::size_t at = text.find("@host", text.find("unheard_of"));
  ASSERT_NE(at, text.npos);
  write_files({{file, text.replace(at, 5, "@cuda")}});
  EXPECT_EQ(command_test::call("assay page " + folder.path().string()).status, kPassed);
  EXPECT_NE(read_file(folder.path() / "selftest.html").find("unheard_of"), std::string::npos);
}

TEST(Selftest, CountsWhatTheRulesOfOthersLetThrough) {
  Selftest s = all_well();
  SelftestEntry& e = first(s, Kind::cheat);
  e.peers_ran = true;
  e.usual = {true, true, false};
  e.killing = {true, false, false};
  const SelftestCounts n = count(s);
  EXPECT_EQ(n.pass_usual, (std::array<std::int64_t, kPeerRules>{1, 1, 0}));
  EXPECT_EQ(n.pass_killing, (std::array<std::int64_t, kPeerRules>{1, 0, 0}));
  EXPECT_EQ(n.by_name, n.faults + n.cheats);
}

}  // namespace
}  // namespace assay

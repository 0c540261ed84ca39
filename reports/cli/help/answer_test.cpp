// SPDX-License-Identifier: Apache-2.0
// --json and --junit: what is written from a document. The answers of commands are in answers.calls.
#include "reports/terminal/answer.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/cli/help/answer_test.hpp"

namespace assay {
namespace {

using answer_test::JunitFile;
using answer_test::read_junit;

TEST(VerdictDocument, TextOfAnyKindIsValidInBothForms) {
  VerdictDocument d;
  d.command = "check";
  d.verdict = "FAIL";
  d.exit_status = 1;
  VerdictCase c{.suite = "a<b>&\"'", .name = "]]> \x01\x1b[31m"};
  c.outcome = CaseOutcome::failed;
  c.message = "\xff\xfe no UTF-8, \xef\xbf\xbf no XML, \xe2\x82\xac is";
  d.cases = {c};
  EXPECT_EQ(render_junit(d).find("\xef\xbf\xbf"), std::string::npos) << "XML has no U+FFFF";
  JunitFile j = read_junit(render_junit(d));
  EXPECT_EQ(j.found, 2);
  ASSERT_EQ(j.failed.count("a<b>&\"' ]]> ??[31m"), 1u) << render_junit(d);
  EXPECT_NE(j.failed["a<b>&\"' ]]> ??[31m"].find("\xe2\x82\xac is"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::accept(render_verdict_json(d)));
}

TEST(VerdictDocument, AGroupThatFailsInOneRecordFails) {
  ReportData data;
  Record r;
  r.key = "a/f32@host", r.group = "shapes", r.family = "normal_1", r.status = Status::pass;
  data.records = {r, r, r};
  data.records[1].status = Status::hung;
  data.records[1].reason = "no end";
  data.records[1].reproduce = "assay check a/f32@host --V 7";
  data.records[2].status = Status::inconclusive;
  const VerdictDocument d = verdict_document("check", data, 1);
  ASSERT_EQ(d.cases.size(), 1u);
  EXPECT_EQ(d.cases[0].outcome, CaseOutcome::failed);
  EXPECT_EQ(d.cases[0].records, 3);
  EXPECT_EQ(d.cases[0].bad, 2);
  EXPECT_EQ(d.cases[0].message, "hung: no end");
  EXPECT_EQ(d.cases[0].reproduce, "assay check a/f32@host --V 7");
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The simplest rule that separates failing from passing cases is found, whatever other rules could separate
// them, and two faults are kept apart.
#include "accuracy/conformance/diagnosis/diagnosis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/fault_kind.hpp"

namespace assay::conformance {
namespace {

Record one(const std::string& group, const std::string& family, std::int64_t V, std::int64_t rows, bool fails,
           const Setup& setup = {}, Check check = Check::element) {
  Record r;
  r.group = group;
  r.family = family;
  r.V = V;
  r.rows = rows;
  r.setup = setup;
  r.lowest_maximum = r.highest_maximum = family == "shifted_minus_1000" ? -1000 : 0;
  r.status = fails ? Status::fail : Status::pass;
  CheckResult c;
  c.check = check;
  c.judged = 1;
  c.failed = fails;
  if (fails) c.detail = "row 0, column 2: got 0, exact 1.7e-3";
  r.checks.push_back(c);
  return r;
}

std::vector<Record> shapes(
    const std::function<bool(std::int64_t V, std::int64_t rows, bool constant)>& fails) {
  std::vector<Record> records;
  for (std::int64_t V = 0; V <= 1200; ++V)
    for (std::int64_t rows : {1, 3})
      for (const bool constant : {true, false})
        records.push_back(
            one("shapes", constant ? "constant" : "shifted_minus_1000", V, rows, fails(V, rows, constant)));
  return records;
}

struct Expected {
  std::function<bool(std::int64_t, std::int64_t, bool)> fails;
  const char* where;
  const char* likely;
};

TEST(Diagnosis, NamesTheRuleOfRowLengths) {
  const Expected all[] = {
      {[](auto, auto, auto) { return true; }, "every case", ""},
      {[](auto V, auto, auto) { return V % 4 == 3; }, "every V with V % 4 = 3 (first: V = 3)",
       "the tail of a vectorised loop"},
      {[](auto V, auto, auto) { return V % 4 != 0; }, "every V that is no multiple of 4 (first: V = 1)",
       "the tail of a vectorised loop"},
      {[](auto V, auto, auto) { return V > 1024; }, "every V from 1025 on (first: V = 1025)",
       "rows longer than 1024 take a path, or need room, that is wrong"},
      {[](auto V, auto, auto) { return V == 0; }, "V = 0", "empty or single rows are not provided for"},
      {[](auto V, auto, auto) { return V >= 200 && V < 300; }, "every V from 200 to 299 (first: V = 200)",
       "a dispatch between these lengths takes a wrong path"},
      {[](auto, auto rows, auto) { return rows > 1; }, "every case of several rows",
       "rows beyond the first are addressed wrongly"},
      {[](auto, auto, auto constant) { return !constant; }, "every row whose maximum is -1000 or less",
       "the running maximum, or the padding, does not start at -inf"},
      {[](auto V, auto, auto constant) { return constant && V > 256; },
       "every row of the family constant, V from 257 on (first: V = 257)",
       "the sum is accumulated in a format too narrow for its terms"},
      {[](auto V, auto rows, auto) { return rows > 1 && V % 32 == 1; },
       "every case of several rows, V with V % 32 = 1 (first: V = 1)", "the tail of a tile or block of 32"},
  };
  for (const Expected& e : all) {
    const auto records = shapes(e.fails);
    const auto found = diagnose(records);
    ASSERT_EQ(found.size(), 1u) << e.where;
    EXPECT_EQ(found[0].where, e.where);
    EXPECT_EQ(found[0].likely, e.likely) << e.where;
    EXPECT_EQ(found[0].declares, std::string(e.where).starts_with("every V from 1025") ? "max_V=1024" : "");
    EXPECT_EQ(found[0].checks, "element");
    EXPECT_EQ(found[0].detail, "row 0, column 2: got 0, exact 1.7e-3");
    EXPECT_GE(found[0].of, 4800);
  }
}

TEST(Diagnosis, NothingWrongIsNothingFound) {
  EXPECT_TRUE(diagnose(shapes([](auto, auto, auto) { return false; })).empty());
}

TEST(Diagnosis, TellsTwoFaultsApart) {
  const auto records = shapes([](auto V, auto, auto) { return V % 8 == 5 || V == 1000; });
  const auto found = diagnose(records);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].where, "every V with V % 8 = 5 (first: V = 5)");
  EXPECT_EQ(found[1].where, "V = 1000");
}

TEST(Diagnosis, SaysOnlyWhereSomeOfTheCasesFail) {
  // Half of the multiples of 32, without a rule.
  const auto records = shapes([](auto V, auto, auto) { return V % 32 == 0 && V * 2654435761 % 97 < 60; });
  const auto found = diagnose(records);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].where.starts_with("no exact rule; ")) << found[0].where;
  EXPECT_NE(found[0].where.find("cases fail with: V with V % 32 = 0"), std::string::npos) << found[0].where;
}

TEST(Diagnosis, NamesSetups) {
  std::vector<Record> records;
  for (std::int64_t V : {33, 64, 1000}) {
    for (int bytes : {4, 8, 12})
      records.push_back(
          one("layout", "row_encoded", V, 3, bytes == 4 || bytes == 12, "offset_" + std::to_string(bytes)));
    for (const char* setup : {"guard_nan", "pitch_logits", "pitch_both"})
      records.push_back(one("layout", "row_encoded", V, 3, false, setup));
  }
  auto found = diagnose(records);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, "every base address off a multiple of 8 bytes");
  EXPECT_EQ(found[0].likely, "vector accesses assume an alignment that the base address does not have");

  for (Record& r : records) r = one("layout", "row_encoded", r.V, 3, r.setup.gap() > 0, r.setup);
  found = diagnose(records);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, "every case pitch_*");
  EXPECT_EQ(found[0].likely, "the pitch is ignored");

  records.clear();
  for (const char* setup : {"new_content", "new_pointer", "call_200"})
    records.push_back(one("calls", "normal_1", 1027, 2, setup == std::string("new_content"), setup));
  found = diagnose(records);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].likely, "results are cached by pointer, or state is kept from call to call");
}

TEST(Diagnosis, CrashesAreNamedAsSuch) {
  std::vector<Record> records = shapes([](auto, auto, auto) { return false; });
  for (Record& r : records)
    if (r.V > 1000) {
      r.status = Status::crashed;
      r.reason = "segmentation fault: a write at byte 132 of the values";
    }
  const auto found = diagnose(records);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].checks, "crashed");
  EXPECT_EQ(found[0].detail, "segmentation fault: a write at byte 132 of the values");
  EXPECT_EQ(found[0].where, "every V from 1001 on (first: V = 1001)");
}

/// A launcher that returns an error for some lengths, as every group sees it.
std::vector<Record> refusing(const std::function<bool(std::int64_t V)>& refuses) {
  std::vector<Record> records = shapes([&](auto V, auto, auto) { return V > 0 && refuses(V); });
  for (const std::int64_t V : {33, 257, 1000, 1027, 1028, 4096})
    records.push_back(one("calls", "normal_1", V, 2, refuses(V), "new_content"));
  for (Record& r : records)
    if (r.status == Status::fail)
      r.checks[0].check = Check::launch, r.checks[0].cause = FaultKind::returned_status,
      r.checks[0].detail = "returned status 1: the entry returned 1";
  records.push_back(one("families", kProbeFamily, 0, 0, true, "", Check::launch));
  records.back().checks[0].cause = FaultKind::returned_status;
  records.back().checks[0].detail = "returned status 1: the entry returned 1";
  return records;
}

TEST(Diagnosis, LengthsThatALauncherRefusesAreLimitsToDeclare) {
  const struct {
    std::function<bool(std::int64_t)> refuses;
    const char *where, *likely;
  } all[] = {
      {[](auto V) { return V > 1024; }, "every V above 1024 (first: V = 1025)",
       "the launcher refuses every V above 1024: declare max_V=1024"},
      {[](auto V) { return V % 4 != 0; }, "every V that is no multiple of 4 (first: V = 1)",
       "the launcher refuses every V that is no multiple of 4: declare V_multiple=4"},
      {[](auto V) { return V % 2 != 0 || V > 1024; },
       "every V that is no multiple of 2, and every V above 1024 (first: V = 1)",
       "the launcher refuses every V that is no multiple of 2, and every V above 1024: declare V_multiple=2; "
       "max_V=1024"},
  };
  for (const auto& e : all) {
    const auto records = refusing(e.refuses);
    const auto found = diagnose(records);
    ASSERT_EQ(found.size(), 1u) << e.where;
    EXPECT_EQ(found[0].where, e.where);
    EXPECT_EQ(found[0].likely, e.likely);
    EXPECT_EQ(found[0].group, "shapes");
    EXPECT_EQ(found[0].also.size(), 2u);
    EXPECT_EQ(found[0].detail, "returned status 1: the entry returned 1");
  }
  // Errors without a rule are no limit. A failure in addition to a limit stays a separate finding.
  for (const auto& f : diagnose(refusing([](auto V) { return V == 77 || V == 500 || V == 1001; })))
    EXPECT_EQ(f.likely.find("declare"), std::string::npos) << f.likely;
  auto records = refusing([](auto V) { return V > 1024; });
  for (Record& r : records)
    if (r.V <= 1024 && r.V % 4 == 3) r = one(r.group, r.family, r.V, r.rows, true);
  const auto found = diagnose(records);
  ASSERT_EQ(found.size(), 2u);
  const auto has = [&](const char* where) {
    return std::any_of(found.begin(), found.end(), [&](const Finding& f) { return f.where == where; });
  };
  EXPECT_TRUE(has("every V with V % 4 = 3 (first: V = 3)"));
  EXPECT_TRUE(has("every V above 1024 (first: V = 1025)"));
}

TEST(Diagnosis, ACauseIsNotGuessedWhereAnotherIsKnown) {
  auto records = shapes([](auto V, auto rows, auto) { return V == 7 && rows > 1; });
  for (Record& r : records)
    if (r.status == Status::fail) r.status = Status::hung, r.reason = "nothing came back within 20 s";
  EXPECT_NE(diagnose(records)[0].likely.find("--timeout"), std::string::npos);

  records = shapes([](auto V, auto, auto) { return V >= 200 && V < 300; });
  for (Record& r : records)
    if (r.status == Status::fail) r.nearest = Nearest::other_class;
  // No class of arithmetic is right for long rows and wrong for these.
  EXPECT_NE(diagnose(records)[0].likely.find("dispatch"), std::string::npos);
  EXPECT_FALSE(diagnose(records)[0].may_be_arithmetic);
  records = shapes([](auto V, auto, auto) { return V >= 200; });
  for (Record& r : records)
    if (r.status == Status::fail) r.nearest = Nearest::other_class;
  EXPECT_NE(diagnose(records)[0].likely.find("arithmetic"), std::string::npos);
  EXPECT_TRUE(diagnose(records)[0].may_be_arithmetic);

  records = shapes([](auto V, auto rows, auto) { return rows == 1 && V * 2654435761 % 97 < 9; });
  for (Record& r : records)
    if (r.status == Status::fail) r.checks[0].check = Check::coherence;
  EXPECT_NE(diagnose(records)[0].likely.find("share one maximum"), std::string::npos);
  for (Record& r : records)
    if (r.status == Status::fail) r.nearest = Nearest::other_class;
  EXPECT_NE(diagnose(records)[0].likely.find("arithmetic"), std::string::npos);
}

TEST(Diagnosis, NamesNoCauseThatTheOperationDoesNotHave) {
  // A backward pass takes no maximum.
  std::vector<Record> records = shapes([](auto, auto, bool constant) { return !constant; });
  for (Record& r : records) r.op = "softmax_backward";
  EXPECT_EQ(diagnose(records)[0].likely, "");
  // Values that are normalised over the k selected ones are right up to V = k.
  records = shapes([](auto V, auto, auto) { return V > 5; });
  for (Record& r : records) r.op = "softmax_topk", r.k = 5;
  EXPECT_NE(diagnose(records)[0].likely.find("normalised over the k"), std::string::npos);
}

TEST(Diagnosis, ARuleWithoutWhichMostCasesFailNamesNoCause) {
  const auto records = shapes([](std::int64_t V, std::int64_t rows, bool) {
    return rows == 3 ? V > 2 && V != 500 : V * 2654435761 % 97 < 78;
  });
  const auto found = diagnose(records);
  EXPECT_TRUE(found[0].where.find("cases fail with: case of several rows") != std::string::npos)
      << found[0].where;
  EXPECT_EQ(found[0].likely, "");
}

TEST(Diagnosis, AFirstCaseThatPassesAloneIsNoMatterOfItsLength) {
  std::vector<Record> records = shapes([](std::int64_t V, std::int64_t, bool) { return V % 4 == 3; });
  for (Record& r : records)
    if (r.status == Status::fail) r.alone = Alone::passes, r.reproduce = "assay check K --only shapes --V 3";
  std::vector<Finding> found = diagnose(records);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].likely.find("state kept between calls, or a race"), std::string::npos)
      << found[0].likely;
  EXPECT_TRUE(found[0].passes_alone);

  records.push_back(one("repeat", "normal_1", 33, 2, true, "", Check::repeat));
  for (const Finding& f : diagnose(records))
    if (f.group == "shapes") {
      EXPECT_NE(f.likely.find("threads race"), std::string::npos) << f.likely;
    }

  records.push_back(one("calls", "normal_1", 257, 2, true, "call_200"));
  records.back().reproduce = "assay check K --only calls --setup call_200";
  found = diagnose(records);
  EXPECT_EQ(found[0].group, "calls");
  EXPECT_EQ(found[0].first->reproduce, records.back().reproduce);
  EXPECT_EQ(found[0].also, std::vector<std::string>{"shapes (1200)"});

  // Calls that also fail alone do not prove that state is kept.
  records.back().alone = Alone::fails;
  for (const Finding& f : diagnose(records))
    if (f.group == "shapes") {
      EXPECT_NE(f.first->reproduce, records.back().reproduce);
    }
}

}  // namespace
}  // namespace assay::conformance

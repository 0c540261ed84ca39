// SPDX-License-Identifier: Apache-2.0
// A sum that has a few terms too few or too many is told by rows of equal logits, for every type of output,
// and whatever other rows fail. No other fault is told so.
#include "accuracy/conformance/diagnosis/lost_terms.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "accuracy/conformance/diagnosis/diagnosis.hpp"
#include "accuracy/conformance/diagnosis/finding.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/candidate.hpp"
#include "kernels/fault_kind.hpp"
#include "reference/problem.hpp"

namespace assay::conformance {
namespace {

/// A kernel whose sum of the exps of V equal logits is `d(V)`, and whose outputs are rounded.
struct Sums {
  std::function<double(std::int64_t V)> d;
  Op op = Op::softmax;
  Dtype out = Dtype::f32;
  /// A row fails if its sum is off by more than this part of it.
  double bound = 1e-3;
  /// How many of its outputs are made with that sum; the others are right.
  std::function<double(std::int64_t V)> wrong = [](std::int64_t V) { return static_cast<double>(V); };
};

double as_double(std::int64_t V) { return static_cast<double>(V); }

/// Rows of equal logits, and others. Of the others a few fail without a rule, as where one logit of many is
/// most of the sum.
std::vector<Record> records_of(const Sums& s) {
  std::vector<Record> records;
  for (std::int64_t V = 1; V <= 1200; ++V)
    for (const bool constant : {true, false}) {
      Record r;
      r.group = "shapes", r.family = constant ? "constant" : "normal_1";
      r.op = name(s.op), r.dtype = name(s.out), r.V = V, r.rows = 1;
      r.lowest_maximum = r.highest_maximum = 0;
      const double d = s.d(V), off = std::abs(d - as_double(V)) / as_double(V);
      const bool fails = constant ? off > s.bound : off > 0 && V * 2654435761 % 97 < 40;
      r.status = fails ? Status::fail : Status::pass;
      CheckResult c;
      c.check = Check::element, c.judged = 1, c.failed = fails;
      r.checks.push_back(c);
      const double exact = s.op == Op::softmax ? 1 / d : -std::log(d);
      if (constant) {
        r.worst = WorstElement{.got = round_to(s.out, exact)};
        r.max_ulp = off * std::ldexp(1.0, format(s.out).precision);
        r.mean_ulp = *r.max_ulp * s.wrong(V) / as_double(V);
      }
      records.push_back(r);
    }
  return records;
}

std::string likely(const Sums& s) {
  const std::vector<Record> records = records_of(s);
  const std::vector<Finding> found = diagnose(records);
  if (found.empty()) return "nothing found";
  EXPECT_EQ(found[0].lost_terms.empty(),
            found[0].likely.find("the exps of V equal logits") == std::string::npos);
  if (!found[0].lost_terms.empty()) {
    EXPECT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].where.find("no exact rule"), std::string::npos) << found[0].where;
  }
  return found[0].likely;
}

const char kOne[] =
    "one element is left out of the sum of every row, as the last column may be: the exps of V equal logits "
    "add up "
    "to V - 1";

TEST(LostTerms, AreToldOfEveryTypeOfOutput) {
  for (const Op op : {Op::softmax, Op::log_softmax})
    for (const Dtype out : kJudged) {
      const double bound = 8 * unit_roundoff(out);
      SCOPED_TRACE(std::string(name(op)) + " " + name(out));
      EXPECT_EQ(likely({[](auto V) { return as_double(V - 1); }, op, out, bound}), kOne);
      // Of rows of up to 3 elements nothing is left.
      EXPECT_EQ(
          likely({[](auto V) { return as_double(std::max<std::int64_t>(0, V - 3)); }, op, out, bound}),
          "3 elements are left out of the sum of every row, as the last columns may be: the exps of V equal "
          "logits add up to V - 3");
      EXPECT_EQ(
          likely({[](auto V) { return as_double(V + 1); }, op, out, bound}),
          "the sum of every row has one term too many, as if a column were added twice: the exps of V equal "
          "logits add up to V + 1");
      EXPECT_EQ(
          likely({[](auto V) { return as_double(V + 2); }, op, out, bound}),
          "the sum of every row has 2 terms too many, as if columns were added twice: the exps of V equal "
          "logits add up to V + 2");
    }
}

TEST(LostTerms, TheirPlaceIsWhereTheyWereSeen) {
  const std::vector<Record> records = records_of({[](auto V) { return as_double(V - 1); }});
  const std::vector<Finding> found = diagnose(records);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].where.starts_with("seen in rows of V = 1 to ")) << found[0].where;
  EXPECT_TRUE(found[0].vague);
}

TEST(LostTerms, NoOtherFaultIsTakenForThem) {
  // Every large double is a whole number.
  for (const double huge : {1e20, 1e43, 1e300})
    for (const Op op : {Op::softmax, Op::log_softmax})
      EXPECT_EQ(likely({[=](auto) { return huge; }, op}).find("equal logits"), std::string::npos) << huge;
  for (const Dtype out : kJudged) {
    const double bound = 8 * unit_roundoff(out);
    const auto told = [&](const std::function<double(std::int64_t V)>& d) {
      return likely({d, Op::softmax, out, bound}).find("the exps of V equal logits") != std::string::npos;
    };
    SCOPED_TRACE(name(out));
    EXPECT_EQ(likely({as_double, Op::softmax, out, bound}), "nothing found");
    // What depends on V, or on the other rows, is told by a rule.
    EXPECT_FALSE(told([](auto V) { return as_double(V - V % 4); }));
    EXPECT_FALSE(told([](auto V) { return as_double(V % 4 == 0 ? V - 1 : V); }));
    EXPECT_FALSE(told([](auto V) { return as_double(V > 7 ? V - 2 : V); }));
    EXPECT_FALSE(told([](auto V) { return as_double(V / 2); }));
    // A factor is no number of terms. Half of a term is none either.
    for (const double factor : {0.5, 0.9, 1.001, 1.1, 1.25, 2.0})
      EXPECT_FALSE(told([&](auto V) { return factor * as_double(V); })) << factor;
    EXPECT_FALSE(told([](auto V) { return as_double(V) + 0.5; }));
    // The maximum is another one, so that every term is as wrong.
    EXPECT_FALSE(told([](auto V) { return as_double(V) * std::exp(-3.0); }));
  }
}

TEST(LostTerms, AreOfTheSumOnlyIfTheWholeRowIsAsWrong) {
  for (const Dtype out : kJudged) {
    const auto of = [&](const std::function<double(std::int64_t V)>& wrong) {
      return likely(
          {[](auto V) { return as_double(V - 1); }, Op::softmax, out, 8 * unit_roundoff(out), wrong});
    };
    SCOPED_TRACE(name(out));
    EXPECT_EQ(of(as_double), kOne);
    // One output alone, or the tail of the row, is divided by something else.
    EXPECT_EQ(of([](auto) { return 1.0; }).find("equal logits"), std::string::npos);
    EXPECT_EQ(of([](auto V) { return as_double(V) / 2; }).find("equal logits"), std::string::npos);
    EXPECT_EQ(of([](auto V) { return as_double(V - V % 4); }).find("equal logits"), std::string::npos);
  }
}

TEST(LostTerms, AreNotGuessedWhereTheOutputsOfARowDoNotAgree) {
  const auto cause = [](bool coherent) {
    std::vector<Record> records = records_of(
        {[](auto V) { return as_double(V - 1); }, Op::softmax, Dtype::f32, 1e-3, [](auto) { return 1.0; }});
    std::erase_if(records,
                  [](const Record& r) { return r.family == "constant" && r.status != Status::fail; });
    for (Record& r : records) {
      if (r.family != "constant") r.status = Status::pass, r.checks[0].failed = 0;
      CheckResult c;
      c.check = Check::coherence, c.judged = 1, c.failed = r.status == Status::fail && !coherent;
      r.checks.push_back(c);
    }
    const std::vector<Finding> found = diagnose(records);
    return found.size() == 1 ? found[0].where + ": " + found[0].likely : "several";
  };
  EXPECT_EQ(cause(true),
            "every row of the family constant: a narrow accumulator, or terms left out of the sum");
  EXPECT_EQ(cause(false).find("the sum"), std::string::npos) << cause(false);
}

TEST(LostTerms, WhatIsNoMatterOfNumbersStaysAFindingOfItsOwn) {
  std::vector<Record> records = records_of({[](auto V) { return as_double(V - 1); }});
  // Rows of equal logits are among those beside which is written, too.
  for (Record& r : records)
    if (r.V % 8 == 5) {
      r.status = Status::fail;
      r.checks[0].check = Check::guard, r.checks[0].failed = 1;
    }
  const std::vector<Finding> found = diagnose(records);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].likely, kOne);
  EXPECT_NE(found[1].where.find("V % 8 = 5"), std::string::npos) << found[1].where;
  EXPECT_EQ(found[1].likely.find("equal logits"), std::string::npos) << found[1].likely;
  EXPECT_TRUE(found[1].lost_terms.empty());
  EXPECT_TRUE(found[1].exact);
}

TEST(LostTerms, ASumThatAProbeMeasuredComesBeforeAGuess) {
  // Rows fail here and there, as they do where the sum is rounded to f16.
  std::vector<Record> records =
      records_of({.d = [](std::int64_t V) { return as_double(V) * 1.0005; }, .bound = 1});
  const std::string before = diagnose(records).at(0).likely;
  Record probe;
  probe.group = "families", probe.family = kProbeFamily, probe.V = 131071, probe.rows = 1;
  probe.status = Status::pass;
  probe.probes = {{"accumulator", "sum f16", false, 5, "f16", "d = 2048 for 2049 equal logits"}};
  records.push_back(probe);
  EXPECT_EQ(diagnose(records).at(0).likely, "the sum is kept in f16: d = 2048 for 2049 equal logits");
  records.back().probes[0].sum = "f32";
  EXPECT_EQ(diagnose(records).at(0).likely, before);
  records.back().probes[0] = {"accumulator", "sum f16", false, 0, "f16", "d = 2048 for 2049 equal logits"};
  EXPECT_EQ(diagnose(records).at(0).likely, before);
}

// A cause that a single record shows comes before a guess from what many have in common.

Record one(const std::string& group, std::int64_t V, std::int64_t rows, Status status, Check check,
           const std::string& detail, const char* op = "softmax") {
  Record r;
  r.group = group, r.family = "normal_1", r.op = op, r.V = V, r.rows = rows, r.status = status;
  r.checks.push_back({check, 1, status == Status::pass ? 0 : 1, 0, 0, status == Status::pass ? "" : detail});
  return r;
}

/// Lengths that are no multiple of 4 fail here and there, and crash at the end of a page.
std::vector<Record> read_beyond(bool read) {
  std::vector<Record> records;
  for (std::int64_t V = 1; V < 200; ++V) {
    const bool rest = V % 4 != 0;
    records.push_back(one("shapes", V, 3, rest && V % 7 != 2 ? Status::fail : Status::pass, Check::element,
                          "row 2, column 0: got nan"));
    records.push_back(
        one("layout", V, 3, rest ? Status::crashed : Status::pass, Check::launch, "segmentation fault"));
    records.back().setup = "page_end";
    records.back().checks[0].access = {read, true, 12 * V, 12 * V};
  }
  return records;
}

TEST(ShownCauses, AReadBeyondARowIsNamedWithItsAddress) {
  Finding f;
  const std::vector<Record> records = read_beyond(true);
  for (const Record& r : records)
    if (r.status != Status::pass) f.cases.push_back(&r);
  f.first = f.cases.front();
  EXPECT_EQ(cause_of_reads_beyond(f),
            "elements beyond the end of a row are read where V is no multiple of 4 (V = 1: a read at byte 12 "
            "of the "
            "logits, which have 12)");
  f.first = f.cases.at(1);
  EXPECT_EQ(cause_of_reads_beyond(f), "") << "its own words say it";
  const std::vector<Record> writes = read_beyond(false);
  f.cases.clear();
  for (const Record& r : writes)
    if (r.status != Status::pass) f.cases.push_back(&r);
  f.first = f.cases.front();
  EXPECT_EQ(cause_of_reads_beyond(f), "");
}

/// A log-softmax that is hardly off in most cases, and -inf at this distance in some.
std::vector<Record> logs(double distance, double exact) {
  std::vector<Record> records;
  for (std::int64_t V = 2; V < 300; ++V) {
    const bool off = V * 2654435761 % 97 < 50, gone = V > 100 && V * 40503 % 89 < 30;
    Record r = one("families", V, 4, off || gone ? Status::fail : Status::pass,
                   gone ? Check::element : Check::coherence,
                   gone ? "row 2, column 0: got -inf" : "off by little", "log_softmax");
    if (gone)
      r.worst = {.row = 2,
                 .column = 0,
                 .distance = distance,
                 .got = -std::numeric_limits<double>::infinity(),
                 .exact_lo = exact,
                 .exact_hi = exact};
    records.push_back(r);
  }
  return records;
}

TEST(ShownCauses, ALogarithmOfAProbabilityThatIsZero) {
  const std::vector<Record> records = logs(-104, -105);
  const auto found = diagnose(records);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].likely, kUnderflowedLog);
  EXPECT_EQ(found[0].detail, "row 2, column 0: got -inf") << "not of a case that is hardly off";
  EXPECT_FALSE(found[0].may_be_arithmetic);
  // Near the maximum it is another fault.
  const std::vector<Record> near = logs(-5, -6);
  for (const Finding& f : diagnose(near)) EXPECT_NE(f.likely, kUnderflowedLog);
}

TEST(ShownCauses, TheFirstRowThatNobodyWrote) {
  std::vector<Record> records;
  for (const std::int64_t rows : {1, 2, 31, 128, 600, 1000, 1056, 1057, 1100, 2048, 4096})
    for (const std::int64_t V : {7, 32, 129})
      records.push_back(one("rows", V, rows, rows > 1024 ? Status::fail : Status::pass, Check::written,
                            "row 1024: element 0 was never written"));
  for (Record& r : records)
    if (r.status == Status::fail) r.checks[0].row = 1024;
  auto found = diagnose(records);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, "every case of 1056 rows or more");
  EXPECT_EQ(found[0].likely, "more than 1024 rows are not provided for");
  // Rows that differ tell no limit.
  for (Record& r : records)
    if (r.rows == 4096) r.checks[0].row = 3000;
  found = diagnose(records);
  EXPECT_EQ(found.at(0).likely, "more than 1055 rows are not provided for");
}

TEST(ShownCauses, MoreSecondsDoNotHelpAProcessThatIsStopped) {
  const auto likely = [](FaultKind kind) {
    std::vector<Record> records;
    for (std::int64_t V = 1; V < 9; ++V) {
      records.push_back(one("shapes", V, 1, Status::hung, Check::launch, "nothing came back within 60 s"));
      records.back().checks[0].cause = kind;
    }
    return diagnose(records).at(0).likely;
  };
  EXPECT_NE(likely(FaultKind::no_answer).find("--timeout"), std::string::npos);
  EXPECT_EQ(likely(FaultKind::stopped).find("--timeout"), std::string::npos);
}

}  // namespace
}  // namespace assay::conformance

// SPDX-License-Identifier: Apache-2.0
// What is counted as records pass by: figures that tell kernels apart, worst cases, keys in several parts.
#include "reports/data/digest.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/verdict/behaves_like.hpp"

namespace assay {
namespace {

Record judged(const std::string& dtype, double ulp, double ratio) {
  Record r;
  r.key = "k/" + dtype + "@host", r.variant = "k", r.dtype = dtype, r.backend = "host", r.op = "softmax";
  r.family = "normal_1", r.V = 33, r.rows = r.rows_judged = 1, r.status = Status::pass;
  r.max_ulp = ulp, r.max_bound_ratio = ratio;
  r.checks = {{Check::element, 33, 0, 0, ratio, ""}};
  r.worst = WorstElement{0, 1, 0, 0, 0, 0, 0, ulp, ratio};
  return r;
}

TEST(Digest, LeavesTheLastRoundingOutOfErrorAndBound) {
  // An error of 1.5 ulp of at most 2.5: half an ulp of both is the rounding of the output.
  EXPECT_DOUBLE_EQ(*excess_ratio(judged("f32", 1.5, 0.6)), 0.5);
  EXPECT_EQ(excess_ratio(judged("f32", 0.5, 0.2)), 0) << "rounded correctly";
  EXPECT_EQ(excess_ratio(judged("f32", INFINITY, INFINITY)), INFINITY);
  EXPECT_EQ(excess_ratio(judged("f32", NAN, 0.5)), std::nullopt);
  // Elements of 16-bit outputs are judged by what rounds to them. Other checks may use all of their bound.
  Record narrow = judged("f16", 0.5003, 0.04);
  narrow.max_bound_ratio = 0.99;
  EXPECT_EQ(excess_ratio(narrow), 0.04);
  narrow.checks.clear();
  EXPECT_EQ(excess_ratio(narrow), std::nullopt);
}

TEST(Digest, KnowsOrdinaryRows) {
  for (const char* family : {"normal_1", "gpt_logits", "attention_causal", "rows of a user"})
    EXPECT_TRUE(is_ordinary_family(family)) << family;
  for (const char* family : {"uniform_80", "nan", kProbeFamily})
    EXPECT_FALSE(is_ordinary_family(family)) << family;
}

TEST(Digest, ListsNoElementThatIsRoundedCorrectly) {
  ReportData data;
  data.records = {judged("f32", 0.5, 0.9), judged("f32", 0.50001, 0.9), judged("f32", 2, 0.5)};
  const Digest d(data, Digest::Depth::all);
  ASSERT_EQ(d.keys().size(), 1u);
  const KeyTally& k = d.keys().front();
  EXPECT_EQ(k.rounded_records, 2);
  ASSERT_EQ(k.worst_ulp.sorted().size(), 1u) << "one per family";
  EXPECT_EQ(k.worst_ulp.sorted().front().first, 2);
  EXPECT_EQ(k.ordinary.value, 2);
  EXPECT_EQ(k.bound.value, 0.9);
}

TEST(Digest, ListsTheLargestOfManyFamilies) {
  WorstList list;
  for (int i = 0; i < 200; ++i) {
    Record r = judged("f32", i % 100, 0.5);
    r.family = "family " + std::to_string(i % 100);
    list.take(*r.max_ulp, r);
  }
  const auto all = list.sorted();
  ASSERT_EQ(all.size(), WorstList::kMost);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].first, 99 - static_cast<double>(i));
}

TEST(Digest, PutsTogetherTheCasesOfAKeyThatComesInParts) {
  ReportData data;
  for (int part = 0; part < 3; ++part)
    for (const char* dtype : {"f16", "f32"})
      for (int i = 0; i < 4; ++i) {
        Record r = judged(dtype, 2, 0.5);
        r.group = "shapes";
        if (part == 2 && i == 3) {
          r.status = Status::fail, r.reason = "failed: element", r.reproduce = "assay check it";
          r.checks[0].failed = 1, r.checks[0].detail = "row 0";
        }
        data.records.push_back(r);
      }
  const Digest d(data, Digest::Depth::all);
  EXPECT_TRUE(d.is_check());
  ASSERT_EQ(d.keys().size(), 2u);
  for (const KeyTally& k : d.keys()) {
    std::int64_t passed = 0, failed = 0;
    for (const GroupTally& g : k.conformance.groups) passed += g[Status::pass], failed += g[Status::fail];
    EXPECT_EQ(passed, 11);
    EXPECT_EQ(failed, 1);
    EXPECT_EQ(k.conformance.failing_cases, 1);
    ASSERT_EQ(k.conformance.findings.size(), 1u);
    EXPECT_EQ(k.conformance.findings[0].reproduce, "assay check it");
    EXPECT_EQ(k.status.total(), 12);
  }
  ASSERT_EQ(summary_of(d).causes.size(), 2u);
  EXPECT_EQ(summary_of(d).causes[0].check, "element");
}

/// Cases that any output would pass are counted apart: nothing says that they lie outside the domain.
TEST(Digest, TooCoarseIsNoPassAndNotOutside) {
  ReportData data;
  for (int i = 0; i < 3; ++i) {
    Record r = judged("f16", 2, 0.5);
    r.family = "normal_1";
    if (i > 0) {
      r.status = Status::unsupported;
      r.why = Why::coarse;
      r.reason = "coarse: a typical output may be off by 1";
    }
    data.records.push_back(r);
  }
  data.planned = data.executed = 3;
  const Digest coarse(data);
  EXPECT_EQ(verdict_reason(coarse), "the only judged case passed; 2 were not judged (2 too coarse to judge)");
  EXPECT_EQ(coarse.keys()[0].coarse, 2);
  EXPECT_TRUE(coarse.keys()[0].barely_judged());
  for (Record* r : {&data.records[1], &data.records[2]})
    r->why = Why::domain, r->reason = "domain: V above 1";
  const Digest outside(data);
  EXPECT_FALSE(outside.keys()[0].barely_judged());
  EXPECT_EQ(verdict_reason(outside),
            "the only judged case passed; 2 were not judged (2 outside a declared domain)");
}

TEST(Digest, ResolutionNamesWhatItLeavesOut) {
  ReportData data;
  Record r = judged("f32", 2, 0.5);
  r.status = Status::pass, r.resolution = 1e-5, r.resolution_sum = 1e-5, r.op = "lse";
  data.records.push_back(r);
  r.resolution = 3;
  EXPECT_EQ(summary_of(Digest(data)).resolution.find("more passed"), std::string::npos);
  data.records.push_back(r);
  EXPECT_NE(summary_of(Digest(data)).resolution.find("1 more passed whose logarithm"), std::string::npos);
}

/// Why cases did not run comes before that they did not.
TEST(Digest, ARunThatHungSaysSoFirst) {
  ReportData data;
  data.records = {judged("f32", 1, 0.5), judged("f32", 1, 0.5), judged("f32", 1, 0.5)};
  data.records[0].status = Status::hung;
  data.records[1].status = data.records[2].status = Status::not_run;
  data.planned = 3, data.executed = 1;
  EXPECT_EQ(verdict_reason(Digest(data)), "of 3 planned cases 1 hung, and 2 did not run");
  data.records[0].status = Status::pass;
  EXPECT_EQ(verdict_reason(Digest(data)), "2 of 3 planned cases did not run");
}

TEST(Digest, RowsThatNeverCameBackWereNotTried) {
  Record hung = judged("f32", 1, 0.5), small = judged("f32", 1, 0.5);
  hung.group = small.group = "rows";
  hung.status = Status::hung, hung.rows = 65536;
  EXPECT_EQ(lengths_tried({hung}),
            "1 of 4,096 row lengths to 4,096 and 0 of 40 vocabularies were tried, and no launch came back");
  small.rows = 3, small.V = 5;
  EXPECT_EQ(lengths_tried({hung, small}),
            "2 of 4,096 row lengths to 4,096 and 0 of 40 vocabularies were tried, and up to 3 rows");
}

/// Every V to `to`, one row of each, in two families, and a case of another group.
std::vector<Record> swept_lengths(std::int64_t to) {
  std::vector<Record> all;
  for (std::int64_t V = 1; V <= to; ++V)
    for (const char* const family : {"normal_1", "constant"}) {
      Record& r = all.emplace_back(judged("f32", 1 + static_cast<double>(V % 700) / 700, 0.25));
      r.group = "shapes", r.family = family, r.V = V, r.seed = 7;
      r.resolution = 1e-7 * static_cast<double>(V), r.resolution_sum = 1e-6;
    }
  all.push_back(judged("f32", 9, 0.5));
  all.back().group = "families";
  return all;
}

TEST(SweptLengths, OneRecordStandsForItsCases) {
  const std::vector<Record> all = swept_lengths(1200), few = with_swept_lengths(all);
  // Those of the largest ratio and of the coarsest resolution are the first and the last of either family.
  ASSERT_EQ(few.size(), 2u * 3 + 1);
  std::vector<const Record*> swept;
  for (const Record& r : few)
    if (r.swept) swept.push_back(&r);
  ASSERT_EQ(swept.size(), 2u);
  const Record& r = *swept[0];
  EXPECT_EQ(r.swept->cases, 1198);
  EXPECT_EQ(r.swept->lengths, "2-1199");
  EXPECT_EQ(r.swept->rows_judged, 1198);
  EXPECT_EQ(r.V, 699) << "the worst";
  EXPECT_EQ(r.resolution, 1e-7 * 699) << "and all else is of it";
  EXPECT_NE(identity(r).find(" V=2-1199 "), std::string::npos) << identity(r);
  EXPECT_NE(swept[1]->swept->sha256, r.swept->sha256);
  // What is said of them in a file is what is said of all.
  std::vector<Record> read;
  for (const Record& one : few) read.push_back(record_from_json(nlohmann::json::parse(record_line(one))));
  EXPECT_EQ(lengths_tried(read), lengths_tried(all));
  EXPECT_EQ(resolution_line(read), resolution_line(all));
  EXPECT_EQ(count_outcomes(read)[Status::pass], 2401);
  KeyTally whole, folded;
  for (const Record& one : all) whole.take(one);
  for (const Record& one : read) folded.take(one);
  EXPECT_EQ(folded.records(), whole.records());
  EXPECT_EQ(folded.judged.rows, whole.judged.rows);
  EXPECT_EQ(folded.judged.lengths, whole.judged.lengths);
  EXPECT_EQ(folded.judged.core, whole.judged.core);
  // A case with another result gives another hash.
  std::vector<Record> other = all;
  other[2 * 500].max_ulp = 1.5;
  std::vector<std::string> hashes;
  for (const Record& one : with_swept_lengths(other))
    if (one.swept) hashes.push_back(one.swept->sha256);
  EXPECT_NE(hashes[0], r.swept->sha256);
  EXPECT_EQ(hashes[1], swept[1]->swept->sha256);
}

TEST(SweptLengths, WhatIsWrongOrFewStaysCaseByCase) {
  EXPECT_EQ(with_swept_lengths(swept_lengths(999)).size(), 2u * 999 + 1);
  std::vector<Record> all = swept_lengths(1200);
  all[40].status = Status::unsupported;  // no part of it
  std::vector<Record> few = with_swept_lengths(all);
  ASSERT_EQ(few.size(), 2u * 3 + 2);
  EXPECT_EQ(few[2].swept->lengths, "2-20, 22-1199");
  EXPECT_EQ(lengths_in(few[2]).size(), 1197u);
  // Where a kernel is wrong, the cases that pass tell where it is right.
  for (const Status wrong : {Status::fail, Status::crashed, Status::hung, Status::inconclusive}) {
    all[40].status = wrong;
    EXPECT_EQ(with_swept_lengths(all).size(), all.size());
    all.back().key = "other/f32@host";
    std::swap(all.back().status, all[40].status);
    EXPECT_EQ(with_swept_lengths(all).size(), 2u * 3 + 1) << "another kernel's case";
    std::swap(all.back().status, all[40].status);
    all.back().key = all[0].key;
  }
}

TEST(SweptLengths, LengthsOfAFileAreReadWithCare) {
  Record r = judged("f32", 1, 0.5);
  for (const auto& [text, n] : {std::pair("5", 1),
                                {"1-3, 7", 4},
                                {"", 0},
                                {"x", 0},
                                {"1-9000000000000", 0},
                                {"4-2", 0},
                                {"-5", 0},
                                {"1, 2, oh", 2}}) {
    r.swept = SweptLengths{4, 4, text};
    EXPECT_EQ(lengths_in(r).size(), static_cast<std::size_t>(n)) << text;
  }
}

}  // namespace
}  // namespace assay

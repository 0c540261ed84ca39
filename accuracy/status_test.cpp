// SPDX-License-Identifier: Apache-2.0
// The rule from checks to a status: which of several grounds decides.
#include "accuracy/status.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "accuracy/record.hpp"
#include "accuracy/reproduce.hpp"
#include "accuracy/setup.hpp"
#include "kernels/fault_kind.hpp"

namespace assay {
namespace {

CheckResult counted(Check check, std::int64_t failed, std::int64_t undecided = 0) {
  CheckResult c;
  c.check = check;
  c.judged = 5;
  c.failed = failed;
  c.undecided = undecided;
  return c;
}

/// All grounds at once; then the strongest one is removed, one after another.
TEST(Status, TheFirstGroundThatHoldsDecides) {
  Record r;
  r.checks = {counted(Check::element, 2), counted(Check::guard, 0), counted(Check::special, 1)};
  Grounds g{Ended::crashed,
            "signal 11",
            FaultKind::memory,
            "2 comparisons undecided",
            obstacle(Why::domain, "no row"),
            "bound too weak",
            false,
            "beside"};
  const auto decided = [&] {
    decide(r, g);
    return std::pair(r.status, r.reason);
  };
  EXPECT_EQ(decided(), std::pair(Status::crashed, std::string("signal 11")));
  g.ended = Ended::hung;
  EXPECT_EQ(decided(), std::pair(Status::hung, std::string("signal 11")));
  // A fault that did not end the process is a failed check.
  g.ended = Ended::fault;
  EXPECT_EQ(decided(), std::pair(Status::fail, std::string("failed: element, special")));
  r.checks = {counted(Check::element, 0, 2)};
  EXPECT_EQ(r.wants, FaultKind::none);
  g.ended = Ended::lost;
  EXPECT_EQ(decided(), std::pair(Status::unsupported, std::string("signal 11")));
  EXPECT_EQ(r.wants, FaultKind::memory);
  g.kind = FaultKind::time;
  EXPECT_EQ(decided(), std::pair(Status::not_run, std::string("signal 11")));
  EXPECT_EQ(r.wants, FaultKind::time);
  g.ended = Ended::fault;
  EXPECT_EQ(decided(), std::pair(Status::inconclusive, std::string("2 comparisons undecided")));
  g.undecided.clear();
  EXPECT_EQ(decided(), std::pair(Status::unsupported, std::string("domain: no row")));
  EXPECT_EQ(r.why, Why::domain);
  g.nothing_judged = {};
  EXPECT_EQ(decided(), std::pair(Status::inconclusive, std::string("bound too weak")));
  EXPECT_EQ(r.why, Why::none);
  g.weak_is_outside = true;
  EXPECT_EQ(decided(), std::pair(Status::unsupported, std::string("bound too weak")));
  EXPECT_EQ(r.why, Why::coarse);
  g.too_weak.clear();
  EXPECT_EQ(decided(), std::pair(Status::pass, std::string("beside")));
  g.note.clear();
  EXPECT_EQ(decided(), std::pair(Status::pass, std::string()));
}

// A setup and its text are the same thing, whatever the text is.

using CaseSetup = Setup;  // the name is taken in a test of GoogleTest

TEST(Setup, EveryKindHasATextThatIsReadBack) {
  for (int i = 0; i < static_cast<int>(SetupKind::named); ++i) {
    const CaseSetup s(static_cast<SetupKind>(i));
    EXPECT_EQ(CaseSetup(s.text()), s) << s.text();
    EXPECT_EQ(s.empty(), i == 0);
    for (int j = 0; j < i; ++j) EXPECT_NE(CaseSetup(static_cast<SetupKind>(j)).text(), s.text());
  }
}

TEST(Setup, AnOffsetHasANumberAndAnyOtherTextIsAName) {
  const CaseSetup six("offset_6");
  EXPECT_EQ(six, CaseSetup(SetupKind::offset, 6));
  EXPECT_EQ(six.text(), "offset_6");
  EXPECT_EQ(six.sort(), "offset_");
  for (const char* text : {"offset_", "offset_6x", "offset_99999999999999999999", "offset_007",
                           "outputs_sum_to_one", "no such"}) {
    EXPECT_EQ(CaseSetup(text).kind(), SetupKind::named) << text;
    EXPECT_EQ(CaseSetup(text).text(), text);
  }
  EXPECT_EQ(CaseSetup("no such").sort(), "no such");
}

TEST(Setup, APitchHasGaps) {
  EXPECT_TRUE(CaseSetup("pitch_logits").gap_of_logits());
  EXPECT_FALSE(CaseSetup("pitch_logits").gap_of_outputs());
  EXPECT_TRUE(CaseSetup("pitch_both").gap_of_outputs());
  EXPECT_EQ(CaseSetup("pitch_unequal").gap(), 8);
  EXPECT_EQ(CaseSetup("page_end").gap(), 0);
  EXPECT_TRUE(CaseSetup("probs_off").off_alignment());
}

// The line that repeats a case: its parts, their order, and how a shell reads it.

TEST(Reproduce, ACaseOfTheRegistryIsAReportsOne) {
  const Variant& v = *find_variant("online_topk_block/f16@host");
  EXPECT_EQ(reproduce(repeat_of(v, "ties", v.op, shape_of(4, 33, 5), 7)),
            "assay report --key online_topk_block/f16@host --family ties --V 33 --rows 4 --seed 7 --k 5");
  EXPECT_EQ(
      reproduce(repeat_of(v, "ties", Op::normalizer, shape_of(4, 33, 5), 7)),
      "assay report --key online_topk_block/f16@host --family ties --V 33 --rows 4 --seed 7 --op normalizer");
}

TEST(Reproduce, EmptyFieldsAreLeftOutAndWordsAreQuoted) {
  EXPECT_EQ(reproduce({"replay here.case"}), "assay replay here.case");
  Repeat r{"check 'a b.so'"};
  r.group = "layout";
  r.setup = "no such";
  r.dtype = Dtype::bf16;
  r.declare = "height=V; exp=fast";
  r.max_ulp = 1.5;
  r.extent = "quick";
  r.pitch = 40;
  EXPECT_EQ(
      reproduce(r),
      "assay check 'a b.so' --only layout --setup 'no such' --dtype bf16 --declare 'height=V; exp=fast' "
      "--max-ulp 1.5 --quick --pitch 40");
}

/// A pass whose error is above its bound is none, whoever says so.
TEST(Sane, APassIsWithinItsBounds) {
  Record r;
  r.status = Status::pass;
  r.max_bound_ratio = 1.0;
  require_sane(r);
  for (const double share : {1.001, 167771.94, HUGE_VAL}) {
    r.max_bound_ratio = share;
    EXPECT_THROW(require_sane(r), Contradiction) << share;
  }
  r.status = Status::fail;
  require_sane(r);
  r.status = Status::pass;
  r.max_bound_ratio = 0.5;
  r.checks = {{Check::element, 4, 0, 0, 5, ""}};
  EXPECT_THROW(require_sane(r), Contradiction);
  r.checks = {{Check::element, 4, 1, 0, 0, ""}};
  EXPECT_THROW(require_sane(r), Contradiction);
}

// Facts that older files have in sentences only are read from them; of newer files no sentence is read.

/// A record as a program wrote it that had the facts in sentences only.
Record of_old_words(const Record& r, const CheckResult& check) {
  Record old = r;
  old.checks = {check};
  nlohmann::json j = nlohmann::json::parse(to_json(old).dump());
  j.erase("facts");
  return record_from_json(j);
}

TEST(Record, FactsOfOlderFilesAreReadFromTheirSentences) {
  Record r;
  r.status = Status::unsupported;
  const auto why = [&](const char* reason) {
    r.reason = reason;
    return of_old_words(r, {}).why;
  };
  EXPECT_EQ(why("domain: V = 0 is below min_V = 1"), Why::domain);
  EXPECT_EQ(why("coarse: the claimed arithmetic is too coarse to be judged here: no bound"), Why::coarse);
  EXPECT_EQ(why("bound too weak: the claimed arithmetic is too coarse to be judged here"), Why::coarse);
  EXPECT_EQ(why("in place: the variant does not claim it"), Why::in_place);
  EXPECT_EQ(why("not tried: V = 33: 20 launches like it ended the process"), Why::not_tried);
  EXPECT_EQ(why("something else"), Why::none);
  r.status = Status::fail;
  EXPECT_EQ(why("domain: V"), Why::none) << "it was judged";
  const auto check = [&](Check c, const char* detail) {
    return of_old_words(r, {c, 1, 1, 0, 0, detail}).checks.at(0);
  };
  EXPECT_EQ(check(Check::written, "row 1024: element 0 was never written").row, 1024);
  EXPECT_EQ(check(Check::written, "row 66 of 133: row 3: element 0 was never written").row, std::nullopt);
  EXPECT_EQ(check(Check::element, "row 1024: element 0").row, std::nullopt);
  const auto access =
      check(Check::launch, "segmentation fault: a read at byte 36 of the logits, which have 12").access;
  ASSERT_TRUE(access);
  EXPECT_EQ(*access, (BufferAccess{true, true, 36, 12}));
  EXPECT_FALSE(
      check(Check::launch, "segmentation fault: a write at byte 36 of the values, which have 12").access);
  EXPECT_TRUE(check(Check::launch, "3 rows of 33 columns, to measure the sum: no plan").of_measurement);
  EXPECT_EQ(check(Check::launch, "nothing came back within 2 s, its process was stopped by a signal").cause,
            FaultKind::stopped);
  r.family = "probe";
  r.evidence = {
      "accumulator: sum f16, sharper than claimed; d = 2048 for 2049 equal logits; the claim is refuted 5 "
      "times of 12: why; and more",
      "shift: shift none; saw it"};
  const Record probe = of_old_words(r, {});
  ASSERT_EQ(probe.probes.size(), 2u);
  EXPECT_EQ(probe.probes[0],
            (ProbeResult{"accumulator", "sum f16", true, 5, "f16", "d = 2048 for 2049 equal logits"}));
  EXPECT_EQ(probe.probes[1], (ProbeResult{"shift", "shift none", false, 0, "", "saw it"}));
}

TEST(Record, ReadsWhatOlderOnesSaidInSentences) {
  Record failed;
  failed.status = Status::fail;
  failed.behaves_like = "would pass with exp=fast";
  failed.checks = {{Check::element, 99, 1, 0, 2, "row 0, column 3: got nan"}};
  nlohmann::json j = to_json(failed);
  j["evidence"] = {"alone, in a fresh process, it passes", "division: 9 of 9"};
  j.erase("facts");
  const Record r = record_from_json(j);
  EXPECT_EQ(r.alone, Alone::passes);
  EXPECT_EQ(r.evidence, std::vector<std::string>{"division: 9 of 9"});
  EXPECT_EQ(r.nearest, Nearest::other_class) << "the sample would pass with exp=fast";
  EXPECT_EQ(cause_of(r), FaultKind::none);
}

// A kernel can write these words: its exceptions and its standard error are in the sentences.
TEST(Record, WordsOfAKernelAreNoFacts) {
  Record r;
  r.status = Status::crashed;
  for (const char* words :
       {"threw: its process was stopped by a signal", "a read at byte 36 of the logits, which have 12",
        "to measure the sum: no", "row 3: element 0 was never written"})
    for (const Check c : {Check::launch, Check::written}) {
      CheckResult check{c, 1, 1, 0, 0, words};
      check.cause = FaultKind::threw;
      r.checks = {check};
      const Record again = record_from_json(nlohmann::json::parse(to_json(r).dump()));
      EXPECT_EQ(to_json(again), to_json(r));
    }
}

}  // namespace
}  // namespace assay

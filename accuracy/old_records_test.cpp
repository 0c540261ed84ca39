// SPDX-License-Identifier: Apache-2.0
// Facts that older files have in sentences only are read from them; of newer files no sentence is read.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "accuracy/record.hpp"

namespace assay {
namespace {

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

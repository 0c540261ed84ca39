// Records travel through JSON without loss, infinities included, and bad lines are refused by field.
#include "accuracy/record.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "accuracy/ulp.hpp"
#include "reference/error.hpp"

namespace assay {
namespace {

Record sample() {
  Record r;
  r.key = "online_block/f16@host";
  r.variant = "online_block";
  r.dtype = "f16";
  r.backend = "host";
  r.op = "softmax";
  r.family = "normal_1";
  r.rows = 3;
  r.V = 33;
  r.seed = 18446744073709551615u;
  r.status = Status::fail;
  r.reason = "failed: element";
  r.max_ulp = INFINITY;
  r.p99_ulp = 0.49609375;
  r.checks = {{Check::element, 99, 1, 0, INFINITY, "row 0, column 3: got nan"},
              {Check::range, 99, 0, 2, 0.25, ""}};
  r.worst = WorstElement{0, 3, -INFINITY, -INFINITY, NAN, 0, 0x1p-1074, INFINITY, INFINITY};
  r.behaves_like = "would pass with exp=fast";
  r.nearest = Nearest::other_class;
  r.evidence = {"division: 9 of 9", "shift: \"none\""};
  r.wants = FaultKind::time;
  r.reproduce = "assay report --key online_block/f16@host";
  return r;
}

TEST(Record, SurvivesJson) {
  const nlohmann::json j = nlohmann::json::parse(to_json(sample()).dump());
  EXPECT_EQ(to_json(record_from_json(j)), j);
  for (const char* field : {"key",
                            "variant",
                            "dtype",
                            "backend",
                            "op",
                            "family",
                            "rows",
                            "V",
                            "k",
                            "seed",
                            "status",
                            "reason",
                            "max_ulp",
                            "p99_ulp",
                            "mean_ulp",
                            "correctly_rounded",
                            "max_bound_ratio",
                            "behaves_like",
                            "evidence",
                            "checks",
                            "worst",
                            "reproduce"})
    EXPECT_TRUE(j.contains(field)) << field;
  EXPECT_TRUE(j["mean_ulp"].is_null()) << "a statistic nothing was measured for is absent, not 0";
}

TEST(Record, ACauseIsAFieldAndNoSentence) {
  Record r = sample();
  r.checks = {{Check::launch, 1, 1, 0, 0, "returned status 3", FaultKind::returned_status},
              {Check::property, 25, 1, 0, 0, "a shifted row differs"}};
  r.nearest = Nearest::other_class;
  r.alone = Alone::passes;
  const nlohmann::json j = to_json(r);
  EXPECT_EQ(j["checks"]["launch"]["cause"], "returned_status");
  EXPECT_FALSE(j["checks"]["property"].contains("cause"));
  EXPECT_EQ(j["nearest"], "other_class");
  EXPECT_EQ(j["alone"], "passes");
  const Record again = record_from_json(j);
  EXPECT_EQ(cause_of(again), FaultKind::returned_status);
  EXPECT_EQ(again.nearest, Nearest::other_class);
  EXPECT_EQ(again.alone, Alone::passes);
  ASSERT_NE(find_check(again, Check::property), nullptr);
  EXPECT_EQ(first_failed(again)->check, Check::launch);

  nlohmann::json unknown = j;
  unknown["checks"]["shades"] = j["checks"]["property"];
  EXPECT_THROW(record_from_json(unknown), InputError);
  unknown = j;
  unknown["checks"]["launch"]["cause"] = "weather";
  EXPECT_THROW(record_from_json(unknown), InputError);
}

TEST(Record, ReadsWhatOlderOnesSaidInSentences) {
  nlohmann::json j = to_json(sample());
  j.erase("nearest");
  j["evidence"] = {"alone, in a fresh process, it passes", "division: 9 of 9"};
  const Record r = record_from_json(j);
  EXPECT_EQ(r.alone, Alone::passes);
  EXPECT_EQ(r.evidence, std::vector<std::string>{"division: 9 of 9"});
  EXPECT_EQ(r.nearest, Nearest::other_class) << "the sample would pass with exp=fast";
  EXPECT_EQ(cause_of(r), FaultKind::none);
}

TEST(Record, EveryCheckAndKindOfFaultHasANameOfItsOwn) {
  for (int i = 0; i < kChecks; ++i)
    EXPECT_EQ(parse_check(name(static_cast<Check>(i))), static_cast<Check>(i));
  for (int i = 0; i < kFaultKinds; ++i)
    EXPECT_EQ(parse_fault_kind(name(static_cast<FaultKind>(i))), static_cast<FaultKind>(i));
}

TEST(Record, RefusesABrokenLineByField) {
  for (const char* field : {"key", "V", "status", "worst"}) {
    nlohmann::json j = to_json(sample());
    j.erase(field);
    try {
      record_from_json(j);
      ADD_FAILURE() << field << " was not missed";
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find(field), std::string::npos) << e.what();
    }
  }
  nlohmann::json j = to_json(sample());
  j["status"] = "fine";
  EXPECT_THROW(record_from_json(j), InputError);
}

TEST(UlpError, IsARealNumberOfTheExactValue) {
  const double y = 1 + 0x1p-30;  // between two floats, just above 1
  EXPECT_NEAR(ulp_error(Dtype::f32, 1.0, {y, y}).hi, 0x1p-7, 1e-12);
  EXPECT_NEAR(ulp_error(Dtype::f32, 1 + 0x1p-23, {y, y}).hi, 1 - 0x1p-7, 1e-12);
  // Below a power of two the unit is half as large.
  const double z = 1 - 0x1p-30;
  EXPECT_NEAR(ulp_error(Dtype::f32, 1.0, {z, z}).hi, 0x1p-6, 1e-12);
  // Subnormal results are measured in the smallest subnormal, and so is 0.
  EXPECT_EQ(ulp_error(Dtype::f32, 0x1p-149, {0x1p-150, 0x1p-150}).hi, 0.5);
  EXPECT_EQ(ulp_error(Dtype::f16, 0x1p-24, {0, 0}).hi, 1);
  for (double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY)})
    EXPECT_TRUE(std::isinf(ulp_error(Dtype::f32, bad, {1, 1}).lo));
  // An enclosure gives an enclosure; a result inside it may be exact.
  const Enclosure e = ulp_error(Dtype::f32, 1.0, {1 - 0x1p-40, 1 + 0x1p-40});
  EXPECT_EQ(e.lo, 0);
  EXPECT_GT(e.hi, 0);
}

TEST(UlpDistance, CountsSteps) {
  EXPECT_EQ(ulp_distance(Dtype::f32, 0x80000000u, 0), 0) << "+0 and -0 are the same place";
  EXPECT_EQ(ulp_distance(Dtype::f32, 0x80000001u, 1), 2);
  EXPECT_EQ(ulp_distance(Dtype::f16, 0x3c00, 0x3bff), 1);
  EXPECT_EQ(ulp_distance(Dtype::f16, 0x7e00, 0x3c00), -1);
}

}  // namespace
}  // namespace assay

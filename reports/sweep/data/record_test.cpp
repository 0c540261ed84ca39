// SPDX-License-Identifier: Apache-2.0
// Every kind of timing survives JSON and files without loss. A torn last line is dropped. Any other broken
// line is refused, with a message that names the file, the line and the field.
#include "reports/sweep/data/record.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

template <class Fact>
Fact sample();

template <>
SweepRecord sample() {
  SweepRecord r;
  r.key = "online_topk_block/f16@cuda";
  r.backend = "cuda";
  r.op = "softmax_topk";
  r.dtype = "f16";
  r.rows = 4000;
  r.V = 1032192;
  r.k = 5;
  r.status = Status::pass;
  r.samples = 2;
  r.times_us = {12.5, 13.25};
  r.launches_per_sample = 8;
  r.median_us = 12.875;
  r.p10_us = 12.5;
  r.ci_low_us = 12.5;
  r.bytes = 8257536000;
  r.claimed_loads = 1;
  r.claimed_stores = 0;
  r.copy_us = 3000;
  r.share_of_read = 0.98;
  r.cold = "one pair, 8.3 GB, larger than the L2";
  r.verified = Status::pass;
  r.max_ulp = INFINITY;
  r.family = "normal_1";
  r.seed = 18446744073709551615u;
  r.gpu = "a \"GPU\"";
  r.sm_clock_mhz = 1980;
  r.reproduce = "assay sweep --key online_topk_block/f16@cuda";
  return r;
}

template <>
AccessRecord sample() {
  AccessRecord r;
  r.key = "online_block/f32@cuda";
  r.claimed_loads = 2;
  r.claimed_stores = 1;
  r.source = "ncu";
  r.rows = 4000;
  r.V = 32768;
  r.dram_read = 2.003;
  r.dram_write = INFINITY;
  r.l2_read = NAN;
  r.registers = 32;
  r.occupancy = 0.97;
  r.kernels = 1;
  r.gpu = "a \"GPU\"";
  return r;
}

template <>
SplitRecord sample() {
  SplitRecord r;
  r.key = "onepass_split_fast/f32@cuda";
  r.alone_key = "onepass_fast/f32@cuda";
  r.dtype = "f32";
  r.gpus = 2;
  r.rows = 4000;
  r.V = 262144;
  r.exchange = "nccl";
  r.chunk_rows = 16;
  r.depth = 4;
  r.teams = 2;
  r.status = Status::pass;
  r.times_us = {1500.5, 1501};
  r.samples = 2;
  r.median_us = 1500.75;
  r.shares = {{0, 0, 131072, 1500.75, 1400.0, 1390.0, 0.93, 0.92},
              {1, 131072, 131072, 1499.0, 1380.0, {}, 0.92, {}}};
  r.verified = Status::pass;
  r.family = "normal_1";
  r.seed = 1;
  r.gpu = "a GPU";
  return r;
}

template <class Fact>
class StoredFact : public testing::Test {
 protected:
  std::filesystem::path written(const std::string& text) const {
    const std::filesystem::path file = folder_.path() / "facts.jsonl";
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }
  /// Why the facts of this text are refused.
  std::string refused(const std::string& text) const {
    try {
      read_facts<Fact>(written(text));
    } catch (const InputError& e) {
      return e.what();
    }
    return "accepted";
  }
  TestFolder folder_;
};
using Kinds = testing::Types<SweepRecord, AccessRecord, SplitRecord>;
TYPED_TEST_SUITE(StoredFact, Kinds);

TYPED_TEST(StoredFact, SurvivesJson) {
  const nlohmann::json j = nlohmann::json::parse(fact_line(sample<TypeParam>()));
  EXPECT_EQ(fact_to_json(fact_from_json<TypeParam>(j)), j);
  EXPECT_EQ(j.at("kind"), TypeParam::kKind.word);
  EXPECT_EQ(j.at("version"), 1);
  EXPECT_EQ(identity(fact_from_json<TypeParam>(j)), identity(sample<TypeParam>()));
}

TYPED_TEST(StoredFact, EveryFieldIsNeededAndNamed) {
  const nlohmann::json good = fact_to_json(sample<TypeParam>());
  for (const auto& [field, value] : good.items()) {
    nlohmann::json j = good;
    j.erase(field);
    if (field == "fastest_us")  // records from before it was measured lack it
      EXPECT_NO_THROW(fact_from_json<TypeParam>(j));
    else
      EXPECT_THROW(fact_from_json<TypeParam>(j), InputError) << field;
    j[field] = nlohmann::json::array({nlohmann::json::object()});
    EXPECT_NE(this->refused(j.dump() + "\n").find("facts.jsonl: line 1: field " + field), std::string::npos)
        << field;
  }
  for (const char* const word : {"status", "verified", "role", "source"}) {
    if (!good.contains(word)) continue;
    nlohmann::json j = good;
    j[word] = "measurred";
    EXPECT_NE(this->refused(j.dump() + "\n").find(std::string("field ") + word), std::string::npos) << word;
  }
}

TYPED_TEST(StoredFact, EveryRealFieldKeepsWhatIsNoNumber) {
  const nlohmann::json good = fact_to_json(sample<TypeParam>());
  int real = 0;
  for (const auto& [field, value] : good.items()) {
    if (!value.is_null() && !value.is_number_float() && value != "inf" && value != "nan") continue;
    if (field.starts_with("claimed_") || field == "kernels") continue;  // whole numbers
    ++real;
    for (const char* const x : {"nan", "inf", "-inf"}) {
      nlohmann::json j = good;
      j[field] = x;
      EXPECT_EQ(fact_to_json(fact_from_json<TypeParam>(j)), j) << field;
    }
  }
  EXPECT_GE(real, 7);
}

TYPED_TEST(StoredFact, ALaterOneReplacesAnEarlierOfItsIdentity) {
  TypeParam a = sample<TypeParam>(), other = a, again = a;
  other.V = 63;
  again.gpu = "another GPU";
  const std::filesystem::path file = this->written(fact_line(a) + fact_line(other) + "\n");
  FactFile<TypeParam> facts(file);
  facts.add(again);
  EXPECT_EQ(facts.find(identity(a))->gpu, "another GPU");
  for (const bool compacted : {false, true}) {
    if (compacted) facts.compact();
    const std::vector<TypeParam> all = read_facts<TypeParam>(file);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].gpu, "another GPU");
    EXPECT_EQ(all[1].V, 63);
  }
  EXPECT_EQ(count_outcomes(facts.all())[Status::pass], 2);
}

TYPED_TEST(StoredFact, DropsATornLastLineAndRefusesAnyOther) {
  const std::string line = fact_line(sample<TypeParam>());
  const std::filesystem::path file = this->written(line + line.substr(0, 40));
  EXPECT_EQ(read_facts<TypeParam>(file).size(), 1u);
  EXPECT_EQ(FactFile<TypeParam>(file).all().size(), 1u);
  EXPECT_EQ(std::filesystem::file_size(file), line.size()) << "what is torn is cut off";
  EXPECT_NE(this->refused(line.substr(0, 40) + "\n" + line).find("facts.jsonl: line 1"), std::string::npos);
  EXPECT_THROW(read_facts<TypeParam>(file.string() + ".absent"), InputError);
}

TYPED_TEST(StoredFact, KeepsAWholeLastLineWithoutItsLineBreak) {
  TypeParam last = sample<TypeParam>(), more = last;
  last.V = 33, more.V = 64;
  const std::string lines = fact_line(sample<TypeParam>()) + fact_line(last);
  const std::filesystem::path file = this->written(lines.substr(0, lines.size() - 1));
  EXPECT_EQ(read_facts<TypeParam>(file).size(), 2u);
  FactFile<TypeParam> facts(file);
  ASSERT_NE(facts.find(identity(last)), nullptr);
  facts.add(more);
  EXPECT_EQ(read_facts<TypeParam>(file).size(), 3u) << "the next one has a line of its own";
  EXPECT_NE(this->refused(lines + "{}").find("facts.jsonl: line 3"), std::string::npos)
      << "JSON, and no fact";
}

TYPED_TEST(StoredFact, IsPairedByItsIdentity) {
  const TypeParam a = sample<TypeParam>();
  TypeParam gone = a, fresh = a;
  gone.V = 1, fresh.rows = 1;
  const std::vector<TypeParam> before = {a, gone}, after = {fresh, a};
  const Paired<TypeParam> p = paired(before, after);
  ASSERT_EQ(p.both.size(), 1u);
  EXPECT_EQ(p.both[0], std::make_pair(&before[0], &after[1]));
  EXPECT_EQ(p.gone, std::vector<const TypeParam*>{&before[1]});
  EXPECT_EQ(p.fresh, std::vector<const TypeParam*>{&after[0]});
}

TEST(SweepRecord, ASpeedBeyondTheMachineIsFound) {
  SweepRecord r;
  r.op = "softmax", r.dtype = "f32", r.rows = 4000, r.V = 129024;
  r.bytes = 2 * r.rows * r.V * 4;
  EXPECT_FALSE(writes_less(r));
  EXPECT_FALSE(share_of_fastest(r)) << "nothing was measured";
  r.median_us = 10;
  EXPECT_FALSE(share_of_fastest(r));
  r.copy_us = 10.2, r.read_us = 8;
  EXPECT_DOUBLE_EQ(share_of_fastest(r).value_or(0), 1.02);
  EXPECT_EQ(beyond_reach(r), "");
  r.copy_us = 10.21;
  EXPECT_NE(beyond_reach(r).find("its speed is 1.021 times"), std::string::npos);
  r.fastest_us = 9;
  EXPECT_DOUBLE_EQ(share_of_fastest(r).value_or(0), 0.9) << "what is newer counts";
  // Half the bytes are written, or fewer: then a read is a way, too.
  r.fastest_us.reset(), r.bytes = r.rows * (r.V + 1) * 4;
  EXPECT_TRUE(writes_less(r));
  EXPECT_DOUBLE_EQ(share_of_fastest(r).value_or(0), 0.8);
  r.copy_us.reset();
  EXPECT_DOUBLE_EQ(share_of_fastest(r).value_or(0), 0.8);
  r.median_us = 0.1;
  EXPECT_NE(beyond_reach(r), "");
  r.role = "ceiling";
  EXPECT_EQ(beyond_reach(r), "");
}

TEST(SweepRecord, IdentityTellsConfigurationsApart) {
  const SweepRecord a = sample<SweepRecord>();
  std::vector<SweepRecord> others(4, a);
  others[0].key = "x";
  others[1].k = 10;
  others[2].family = "spike";
  others[3].seed = 2;
  for (const SweepRecord& o : others) EXPECT_NE(identity(o), identity(a)) << identity(o);
}

// A single sample is a pass of its own word.
TEST(SweepRecord, OnceIsAPass) {
  SweepRecord r = sample<SweepRecord>();
  r.once = true;
  EXPECT_EQ(fact_to_json(r).at("status"), "once");
  const auto read = fact_from_json<SweepRecord>(fact_to_json(r));
  EXPECT_TRUE(read.timed() && read.once);
}

TEST(SplitRecord, TheSlowestGpuDecides) {
  EXPECT_EQ(least_share(sample<SplitRecord>()), 0.92);
  SplitRecord none = sample<SplitRecord>();
  for (SplitShare& s : none.shares) s.share_of_alone.reset();
  EXPECT_FALSE(least_share(none).has_value());
}

TEST(SplitRecord, IsNamedByItsWays) {
  EXPECT_EQ(identity(sample<SplitRecord>()),
            "onepass_split_fast/f32@cuda V=262144 rows=4000 gpus=2 nccl 16x4 teams=2");
}

}  // namespace
}  // namespace assay

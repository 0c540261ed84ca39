// SPDX-License-Identifier: Apache-2.0
// What a row of the table of operations brings about alone: an op of four numbers that no other code knows,
// from its case to its page.
#include <gtest/gtest.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "accuracy/conformance/bench.hpp"
#include "accuracy/conformance/contract/contract.hpp"
#include "kernels/fault_kind.hpp"
#include "reference/error.hpp"
#include "reports/page/page.hpp"
#include "reports/page/test_data.hpp"

namespace assay {
namespace {

constexpr SizeInfo kSizes[] = {{"heads", SizePart::further, "heads", 1, 1024, 0},
                               {"queries", SizePart::rows, "queries", 0, kMostSize},
                               {"keys", SizePart::V, "keys", 0, kMostSize},
                               {"head_size", SizePart::further, "size of a head", 1, 1024, 1}};
constexpr Op kOp = static_cast<Op>(std::size(kOpTable));
constexpr OpInfo kMadeUp = {kOp,
                            "made_up",
                            OpInput::logits,
                            OpColumns::V,
                            OpValues::probabilities,
                            kSizes,
                            0,
                            "as many as there are keys"};

class OpOfFourSizes : public testing::Test {
 protected:
  OpOfFourSizes() {
    added_op = &kMadeUp;
    kernel_.variant = "made_up";
    kernel_.dtype = Dtype::f32;
    kernel_.backend = Backend::plugin;
    kernel_.op = kOp;
    kernel_.origin = "made_up.so";
  }
  ~OpOfFourSizes() override { added_op = nullptr; }

  /// The record of a case before it runs.
  Record blank(std::int64_t heads, std::int64_t head_size) const {
    conformance::ConformanceOptions options;
    conformance::Bench bench(kernel_, options);
    const conformance::Group group{"shapes", "", nullptr};
    conformance::Patience patience;
    bench.enter(group, patience, [](std::size_t, Record) {});
    conformance::ConformanceCase c{"normal_1", 256, 64, kOp};
    c.further = {heads, head_size};
    return bench.blank(c);
  }
  Record passed(std::int64_t heads, std::int64_t head_size) const {
    Record r = blank(heads, head_size);
    r.status = Status::pass;
    return r;
  }
  Record refused(std::int64_t heads, std::int64_t head_size) const {
    Record r = blank(heads, head_size);
    r.status = Status::fail, r.reason = "failed: launch";
    r.checks.push_back({Check::launch, 1, 1, 0, 0, "returned status 1", FaultKind::returned_status});
    return r;
  }
  conformance::Axis axis(const char* name, const std::vector<Record>& records) const {
    for (const conformance::Axis& a : conformance::contract_of(kernel_, records, "", {}).axes)
      if (a.name == name) return a;
    return {};
  }

  Variant kernel_;
};

TEST_F(OpOfFourSizes, ACaseHasAnIdentityAndALineThatRepeatsIt) {
  const Record r = blank(8, 128);
  EXPECT_EQ(identity(r),
            "made_up/f32@plugin made_up normal_1 heads=8 queries=64 keys=256 head_size=128 seed=1 shapes");
  EXPECT_EQ(r.reproduce,
            "assay check made_up.so --only shapes --family normal_1 --heads 8 --queries 64 --keys 256 "
            "--head-size 128 --seed 1");
  EXPECT_NE(identity(r), identity(blank(8, 64)));
}

TEST_F(OpOfFourSizes, ARecordIsWrittenAndReadBack) {
  const Record r = passed(8, 128);
  const nlohmann::json j = to_json(r);
  EXPECT_EQ(j.at("heads"), 8);
  EXPECT_EQ(j.at("queries"), 64);
  EXPECT_EQ(j.at("keys"), 256);
  EXPECT_EQ(j.at("head_size"), 128);
  for (const char* other : {"V", "rows", "k", "threshold"}) EXPECT_FALSE(j.contains(other)) << other;
  const Record again = record_from_json(nlohmann::json::parse(record_line(r)));
  EXPECT_EQ(identity(again), identity(r));
  EXPECT_EQ(to_json(again), j);
  nlohmann::json without = j;
  without.erase("head_size");
  try {
    record_from_json(without);
    ADD_FAILURE() << "a record without a number of its op was read";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("head_size"), std::string::npos) << e.what();
  }
}

TEST_F(OpOfFourSizes, AnAxisOfTheContractIsFound) {
  using State = conformance::Axis::State;
  const std::vector<Record> records = {passed(8, 64), passed(8, 128), refused(8, 160), refused(8, 256)};
  const conformance::Axis size = axis("size of a head", records);
  EXPECT_EQ(size.state, State::found);
  EXPECT_EQ(size.within, "head_size at most 128");
  EXPECT_EQ(size.outside, "head_size = 160 is an error (returned status 1)");
  EXPECT_EQ(axis("keys", records).within, "keys >= 0");
  EXPECT_EQ(axis("size of a head", {passed(8, 64)}).state, State::holds);
  EXPECT_EQ(axis("size of a head", {refused(8, 64), passed(8, 128)}).within, "head_size >= 128");
  // No limit explains what is refused between what is taken.
  EXPECT_EQ(axis("size of a head", {passed(8, 64), refused(8, 96), passed(8, 128)}).state, State::wrong);
}

TEST_F(OpOfFourSizes, APageShowsTheNumbers) {
  ReportData data;
  KeyInfo key;
  key.key = kernel_.key(), key.variant = "made_up", key.dtype = "f32", key.backend = "plugin",
  key.op = "made_up";
  data.keys = {key};
  data.records = {passed(8, 128), refused(16, 1000)};
  std::string all;
  for (const auto& [name, html] : render_pages(data)) {
    EXPECT_EQ(test_html::unbalanced(html), "") << name;
    all += html;
  }
  EXPECT_NE(all.find("<th class=\"n\">heads</th><th class=\"n\">queries</th><th class=\"n\">keys</th>"
                     "<th class=\"n\">head_size</th>"),
            std::string::npos);
  EXPECT_NE(all.find("<td class=\"n\" data-v=\"16\">16</td><td class=\"n\" data-v=\"64\">64</td>"
                     "<td class=\"n\" data-v=\"256\">256</td><td class=\"n\" data-v=\"1000\">1,000</td>"),
            std::string::npos);
}

}  // namespace
}  // namespace assay

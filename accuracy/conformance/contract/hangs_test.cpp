// SPDX-License-Identifier: Apache-2.0
// A kernel that always hangs is judged after a few launches, and not after one wait for each case.
#include "accuracy/conformance/hangs.hpp"

#include <algorithm>
#include <utility>

#include "accuracy/conformance/conformance.hpp"
#include "accuracy/conformance/contract/contract.hpp"
#include "accuracy/verdict/launchers_test.hpp"
#include "kernels/registry.hpp"

namespace assay::conformance {
namespace {

TEST(Hangs, ThreeShowItAndTwentySecondsMoreEndIt) {
  Hangs h;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(h.shown());
    h.saw(std::chrono::hours(1));
  }
  EXPECT_TRUE(h.shown());
  EXPECT_FALSE(h.over()) << "what showed it does not count";
  h.saw(std::chrono::seconds(19));
  EXPECT_FALSE(h.over());
  h.saw(std::chrono::seconds(1));
  EXPECT_TRUE(h.over());
}

/// Every launch hangs. The wait is only said, so that the test takes none.
class AlwaysHangs final : public HereLauncher {
 public:
  AlwaysHangs(std::shared_ptr<Hangs> hangs, int& launches) : hangs_(std::move(hangs)), launches_(launches) {}
  LaunchOutcome launch(const Variant&, const Problem&, Images&, const LaunchOptions&) override {
    ++launches_;
    hangs_->saw(std::chrono::seconds(4));
    return {"nothing came back", Ended::hung, {}, 0, FaultKind::no_answer};
  }

 private:
  std::shared_ptr<Hangs> hangs_;
  int& launches_;
};

TEST(Hangs, AKernelThatAlwaysHangsIsLeft) {
  int launches = 0;
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.threads = 1;
  o.hangs = std::make_shared<Hangs>();
  std::vector<std::string> told;
  o.tell = [&](const std::string& words) { told.push_back(words); };
  Variant v = *find_variant("safe_block/f32@host");
  v.launcher = std::make_shared<AlwaysHangs>(o.hangs, launches);
  v.run = {};
  const ContractedResult r =
      run_within_contract([&] { return v; }, o, "", [](const std::string&) { return std::string(); });
  const auto count = [&](Status s) {
    return std::count_if(r.result.records.begin(), r.result.records.end(),
                         [&](const Record& one) { return one.status == s; });
  };
  EXPECT_GE(count(Status::hung), 3);
  EXPECT_LT(launches, 30) << "of " << r.result.records.size() << " cases";
  EXPECT_EQ(count(Status::pass), 0);
  EXPECT_TRUE(std::any_of(r.result.records.begin(), r.result.records.end(), [](const Record& one) {
    return one.reason.starts_with("left, because ") && one.reason.ends_with(" launches of this kernel hung");
  }));
  EXPECT_GE(told.size(), 1u);
}

/// Notes how many rows each launch has. Every launch hangs, or none does.
class NotesRows final : public HereLauncher {
 public:
  NotesRows(Variant inner, bool hangs, std::vector<std::int64_t>& rows)
      : inner_(std::move(inner)), hangs_(hangs), rows_(rows) {}
  LaunchOutcome launch(const Variant&, const Problem& p, Images& images, const LaunchOptions& o) override {
    rows_.push_back(p.rows);
    if (!hangs_) return assay::launch(inner_, p, images, o);
    seen_.doubtful = true;
    return {"nothing came back", Ended::hung, {}, 0, FaultKind::no_answer};
  }
  Disturbance disturbance() override { return std::exchange(seen_, {}); }

 private:
  Variant inner_;
  bool hangs_;
  std::vector<std::int64_t>& rows_;
  Disturbance seen_;
};

std::vector<Record> run_noting(bool hangs, std::vector<std::int64_t>& rows, ConformanceOptions o) {
  o.extent = Extent::quick;
  o.threads = 1;
  if (!o.hangs) o.hangs = std::make_shared<Hangs>();
  Variant v = *find_variant("safe_block/f32@host");
  v.launcher = std::make_shared<NotesRows>(v, hangs, rows);
  v.run = {};
  return run_conformance([&] { return v; }, o).records;
}

// The wait grows with the rows: 16,385 of them may take 40 seconds.
TEST(Hangs, AFewRowsShowThatAKernelHangsAndNotTheLongWaitForMany) {
  ConformanceOptions o;
  o.only = {"rows"};
  o.narrow.V = 7;
  o.narrow.rows = 16385;
  std::vector<std::int64_t> rows;
  for (const Record& r : run_noting(true, rows, o)) {
    EXPECT_EQ(r.status, Status::hung);
    EXPECT_EQ(r.rows, 16385);
    EXPECT_TRUE(r.reason.starts_with("3 rows of the same length: nothing came back")) << r.reason;
    EXPECT_NE(r.reproduce.find("--rows 16385"), std::string::npos) << r.reproduce;
  }
  EXPECT_FALSE(rows.empty());
  EXPECT_EQ(std::count(rows.begin(), rows.end(), 16385), 0);
  // One that comes back is tried on few rows once.
  rows.clear();
  o.hangs = std::make_shared<Hangs>();
  for (int i = 0; i < 2; ++i)
    for (const Record& r : run_noting(false, rows, o)) EXPECT_EQ(r.status, Status::pass) << r.reason;
  EXPECT_EQ(std::count(rows.begin(), rows.end(), 3), 1);
  EXPECT_GE(std::count(rows.begin(), rows.end(), 16385), 2);
}

TEST(Hangs, TheSecondLookLosesNoHang) {
  ConformanceOptions o;
  o.only = {"shapes", "rows"};
  o.hangs = std::make_shared<Hangs>();
  o.hangs->leave();  // the third hang is the last
  std::vector<std::int64_t> rows;
  int hung = 0;
  for (const Record& r : run_noting(true, rows, o)) {
    hung += r.status == Status::hung;
    EXPECT_TRUE(r.status == Status::hung || r.reason.starts_with("left, because ")) << r.reason;
  }
  EXPECT_EQ(hung, 3);
  // The last launch is the second look: it takes a case of the fewest rows.
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows.back(), *std::min_element(rows.begin(), rows.end()));
}

}  // namespace
}  // namespace assay::conformance

// A kernel that always hangs is judged after a few launches, and not after one wait for each case.
#include "accuracy/conformance/hangs.hpp"

#include <algorithm>

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

}  // namespace
}  // namespace assay::conformance

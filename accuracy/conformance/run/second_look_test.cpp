// SPDX-License-Identifier: Apache-2.0
// A case that hung once is looked at again. The worker's own time decides whether the kernel is slow or keeps
// state. A launcher tells the times here, so that the machine's load has no part in the test.
#include "accuracy/conformance/run/second_look.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "accuracy/conformance/conformance.hpp"
#include "accuracy/verdict/launchers_test.hpp"
#include "kernels/registry.hpp"

namespace assay::conformance {
namespace {

/// Says of its first launch that it hung, and of every later one that it took `took` seconds.
class HungOnce final : public HereLauncher {
 public:
  HungOnce(Variant inner, double hung, double took) : inner_(std::move(inner)), hung_(hung), took_(took) {}
  LaunchOutcome launch(const Variant&, const Problem& p, Images& images, const LaunchOptions& o) override {
    if (std::exchange(first_, false)) {
      seen_.doubtful = true;
      seen_.own_seconds = hung_;
      return {"nothing came back", Ended::hung, {}, 0, FaultKind::no_answer};
    }
    seen_.ended_seconds = took_;
    return assay::launch(inner_, p, images, o);
  }
  Disturbance disturbance() override { return std::exchange(seen_, {}); }

 private:
  Variant inner_;
  double hung_, took_;
  bool first_ = true;
  Disturbance seen_;
};

ConformanceResult check_hung(double hung, double took) {
  Variant v = *find_variant("safe_block/f32@host");
  v.launcher = std::make_shared<HungOnce>(v, hung, took);
  v.run = {};
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = {"shapes"};
  o.narrow.V = 257;
  o.threads = 1;
  return run_conformance([&] { return v; }, o);
}

// A billionth of a second is less than any clock shows for a launch, and a million seconds are more.
TEST(SecondLook, TheWorkersOwnTimeDecidesAndNotTheClock) {
  for (const double hung : {1e-9, 1e6}) {
    int open = 0, again = 0;
    for (const Record& r : check_hung(hung, hung / 10).records) {
      EXPECT_TRUE(r.status == Status::pass || r.status == Status::inconclusive) << r.reason;
      open += r.status == Status::inconclusive && r.reason.starts_with("hung once");
    }
    EXPECT_EQ(open, 1) << hung << ": it is fast alone, and no pass";
    for (const Record& r : check_hung(hung, 0.8 * hung).records) {
      EXPECT_EQ(r.status, Status::pass) << r.reason;
      again += !r.at_first.empty();
    }
    EXPECT_EQ(again, 1) << hung << ": it is slow, and that is no fault";
  }
}

}  // namespace
}  // namespace assay::conformance

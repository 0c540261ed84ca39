// SPDX-License-Identifier: Apache-2.0
// The rule from checks to a status: which of several grounds decides.
#include "accuracy/status.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "accuracy/sane.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

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

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Where a row lies after all were turned.
#include "reports/sweep/rig/turned.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Turned, APlaceHoldsWhatTheRowWouldHoldUnturned) {
  for (const std::int64_t distinct : {1, 2, 3, 16, 48})
    for (const std::int64_t rows : {distinct, 2 * distinct, 3 * distinct - 1})
      for (std::int64_t turn = 0; turn < distinct; ++turn) {
        const Turned t{rows, distinct, turn};
        for (std::int64_t r = 0; r < rows; ++r) {
          const std::int64_t place = t.place_of(r);
          ASSERT_TRUE(place >= 0 && place < rows) << r << " of " << rows << ", turn " << turn;
          ASSERT_EQ(t.held_by(place), r % distinct) << r << " of " << rows << ", turn " << turn;
        }
      }
  EXPECT_EQ(Turned::unit(16), 1);
  EXPECT_EQ(Turned::unit(48), 16);
  EXPECT_EQ(Turned::unit(50), 1);
}

}  // namespace
}  // namespace assay

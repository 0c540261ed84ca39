// SPDX-License-Identifier: Apache-2.0
// __DATE__ hangs on the contents of the files and on nothing else.
#include <gtest/gtest.h>

#include "kernels/adapter/compile/builds.hpp"

namespace assay {
namespace {

TEST(Moment, IsOfTheContentsAndNotOfTheirPlaces) {
  const std::int64_t here = moment_of({{"/here/a.cu", "one"}, {"/here/b.h", "two"}});
  EXPECT_EQ(moment_of({{"/there/z.cu", "one"}, {"/there/b.h", "two"}}), here);
  EXPECT_NE(moment_of({{"/here/a.cu", "one"}, {"/here/b.h", "three"}}), here);
  EXPECT_NE(moment_of({{"/here/a.cu", "one"}}), here);
  for (const char* text : {"a", "b", "c", "d", "e", "f"}) {
    const std::int64_t moment = moment_of({{"/a.cu", text}});
    EXPECT_GE(moment, 1735689600) << "2025";
    EXPECT_LT(moment, 2051222400) << "2035";
  }
}

}  // namespace
}  // namespace assay

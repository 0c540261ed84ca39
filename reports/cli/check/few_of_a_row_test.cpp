// SPDX-License-Identifier: Apache-2.0
// A right kernel that refuses a k above 8 and a k above the row length passes within these limits.
#include <gtest/gtest.h>

#include <string>

#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/cli/commands.hpp"

namespace assay {
namespace {

TEST(FewOfARow, PassesWithinTheKThatItTakes) {
  const TestFolder own;
  const auto o = command_test::call_words(
      {"check", ASSAY_SOURCE_DIR "/kernels/adapter/fixtures/few_of_a_row.cu", "--entry", "softmax_topk",
       "--host", "--quick", "--out", (own.path() / "out").string()});
  EXPECT_EQ(o.status, kUndeclaredLimits) << o.out << o.err;
  for (const char* const words :
       {"k at most 8 and V", "adopt with: --declare 'max_k=8; k_up_to_V=yes; nan=any'",
        "k = 5 of 1 logits is an error", "0 failed"})
    EXPECT_NE(o.out.find(words), std::string::npos) << words << "\n" << o.out;
}

}  // namespace
}  // namespace assay

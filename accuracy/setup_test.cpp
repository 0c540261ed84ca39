// SPDX-License-Identifier: Apache-2.0
// A setup and its text are the same thing, whatever the text is.
#include "accuracy/setup.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace assay {
namespace {

using CaseSetup = Setup;  // the name is taken in a test of GoogleTest

TEST(Setup, EveryKindHasATextThatIsReadBack) {
  for (int i = 0; i < static_cast<int>(SetupKind::named); ++i) {
    const CaseSetup s(static_cast<SetupKind>(i));
    EXPECT_EQ(CaseSetup(s.text()), s) << s.text();
    EXPECT_EQ(s.empty(), i == 0);
    for (int j = 0; j < i; ++j) EXPECT_NE(CaseSetup(static_cast<SetupKind>(j)).text(), s.text());
  }
}

TEST(Setup, AnOffsetHasANumberAndAnyOtherTextIsAName) {
  const CaseSetup six("offset_6");
  EXPECT_EQ(six, CaseSetup(SetupKind::offset, 6));
  EXPECT_EQ(six.text(), "offset_6");
  EXPECT_EQ(six.sort(), "offset_");
  for (const char* text : {"offset_", "offset_6x", "offset_99999999999999999999", "offset_007",
                           "outputs_sum_to_one", "no such"}) {
    EXPECT_EQ(CaseSetup(text).kind(), SetupKind::named) << text;
    EXPECT_EQ(CaseSetup(text).text(), text);
  }
  EXPECT_EQ(CaseSetup("no such").sort(), "no such");
}

TEST(Setup, APitchHasGaps) {
  EXPECT_TRUE(CaseSetup("pitch_logits").gap_of_logits());
  EXPECT_FALSE(CaseSetup("pitch_logits").gap_of_outputs());
  EXPECT_TRUE(CaseSetup("pitch_both").gap_of_outputs());
  EXPECT_EQ(CaseSetup("pitch_unequal").gap(), 8);
  EXPECT_EQ(CaseSetup("page_end").gap(), 0);
  EXPECT_TRUE(CaseSetup("probs_off").off_alignment());
}

}  // namespace
}  // namespace assay

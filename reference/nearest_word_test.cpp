// SPDX-License-Identifier: Apache-2.0
#include "reference/nearest_word.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay {
namespace {

const std::vector<std::string> kSome = {"safe_block/f32@host", "safe_warp/f32@host", "gpt_logits",
                                        "all_equal", "k"};

TEST(NearestWord, OneOrTwoChangesAreNear) {
  EXPECT_EQ(nearest_word("safe_blok/f32@host", kSome), "safe_block/f32@host");
  EXPECT_EQ(nearest_word("safe_blcok/f32@host", kSome), "safe_block/f32@host");
  EXPECT_EQ(nearest_word("gptlogit", kSome), "gpt_logits");
  EXPECT_EQ(nearest_word("gptlogi", kSome), "");
}

TEST(NearestWord, AWordThatBeginsSoIsNear) {
  EXPECT_EQ(nearest_word("safe_warp", kSome), "safe_warp/f32@host");
  EXPECT_EQ(nearest_word("saf", kSome), "");
}

TEST(NearestWord, AShortWordIsNearToNothing) {
  EXPECT_EQ(nearest_word("", kSome), "");
  EXPECT_EQ(nearest_word("x", kSome), "");
  EXPECT_EQ(nearest_word("x", {}), "");
  EXPECT_EQ(nearest_word(std::string(129, 'k'), kSome), "");
}

TEST(NearestWord, IsTheEndOfAMessage) {
  EXPECT_EQ(did_you_mean("all_equals", kSome), "; did you mean all_equal?");
  EXPECT_EQ(did_you_mean("nosuch", kSome), "");
}

TEST(NearestWord, DistanceCountsChanges) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

}  // namespace
}  // namespace assay

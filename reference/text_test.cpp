// SPDX-License-Identifier: Apache-2.0
// Texts: errors, the nearest word, JSON.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reference/error.hpp"
#include "reference/fields.hpp"
#include "reference/json_text.hpp"
#include "reference/nearest_word.hpp"

namespace assay {

// Messages about bad input are one line, whatever was in the input.

namespace {

TEST(InputErrors, AreOneLineOfPrintableText) {
  const std::string quoted = std::string("logits: 'a\nb\r\tc\x1b[0m") + '\0' + "\x7f' is not a number";
  const std::string shown = "logits: 'a?b??c?[0m?\?' is not a number";
  EXPECT_EQ(std::string(InputError(quoted).what()), shown);
  EXPECT_EQ(std::string(EnvironmentError(quoted).what()), shown);
  // Letters of other languages stay.
  EXPECT_STREQ(InputError("\xc3\xa9t\xc3\xa9.cu: no such file").what(), "\xc3\xa9t\xc3\xa9.cu: no such file");
}

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

std::string text_refusal(const std::string& text, bool one_line = false) {
  try {
    one_line ? parse_json_line(text) : parse_json(text);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(JsonText, SaysWhereAndNotHowTheLibraryCallsIt) {
  EXPECT_EQ(text_refusal("{\"a\": 1}"), "");
  EXPECT_EQ(text_refusal("{\"a\": 1,\n\"b\": oops}"), "is not JSON: line 2, column 6");
  EXPECT_EQ(text_refusal(""), "is not JSON: line 1, column 1");
  EXPECT_EQ(text_refusal("{\"a\" 1}", true), "is not JSON: column 6");
  EXPECT_EQ(text_refusal("[1e999]").find("json.exception"), std::string::npos);
  EXPECT_EQ(text_refusal("\xff\xfe").find('\xff'), std::string::npos);
}

TEST(JsonText, AMemberThatStandsTwiceIsRefused) {
  EXPECT_EQ(text_refusal("{\"a\": 1, \"b\": {\"a\": 2}, \"c\": [{\"a\": 3}, {\"a\": 4}]}"), "");
  EXPECT_EQ(text_refusal("{\"a\": 1, \"a\": 1}"), "has the member \"a\" twice");
  EXPECT_EQ(text_refusal("{\"b\": {\"a\": {}, \"a\": 1}}"), "has the member \"a\" twice");
  EXPECT_EQ(text_refusal("{\"a\": 1, \"\\u0061\": 2}"), "has the member \"a\" twice");
}

struct Pair {
  int x = 0;
};
template <IsA<Pair> P, class Visit>
void each_field(P& p, Visit& visit) {
  visit("x", p.x);
}

TEST(JsonText, AFieldIsNamedInPlainWords) {
  for (const char* text : {"{}", "[]", "3", "{\"x\": \"three\"}"}) try {
      fields_from_json<Pair>(parse_json(text));
      ADD_FAILURE() << text;
    } catch (const InputError& e) {
      EXPECT_TRUE(std::string(e.what()).starts_with("field x: ")) << e.what();
      EXPECT_EQ(std::string(e.what()).find("json.exception"), std::string::npos) << e.what();
    }
}

}  // namespace
}  // namespace assay

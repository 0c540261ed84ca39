// SPDX-License-Identifier: Apache-2.0
#include "reference/json_text.hpp"

#include <gtest/gtest.h>

#include "reference/fields.hpp"

namespace assay {
namespace {

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

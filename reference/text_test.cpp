// SPDX-License-Identifier: Apache-2.0
// Texts: errors, the nearest word, JSON.
#include "reference/text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "reference/error.hpp"
#include "reference/fields.hpp"

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

// A list of fields writes what it reads, says which field it could not read, and keeps NaN and infinity.

enum class Colour { none, red };
constexpr std::array kColourNames = {"none", "red"};

struct Inner {
  double x = 0;
  int n = 0;
};
struct Outer {
  std::string text;
  std::vector<double> numbers;
  std::optional<double> maybe;
  std::optional<Inner> one;
  std::vector<Inner> many;
  Colour colour = Colour::none;
  double lo = 0, hi = 0;
  std::string later;
};

}  // namespace

template <IsA<Inner> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("x", r.x);
  visit("n", r.n);
}
template <IsA<Outer> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit.if_set("text", r.text);
  visit("numbers", r.numbers);
  visit("maybe", r.maybe);
  visit("one", r.one);
  visit("many", r.many);
  visit.if_set("colour", Word(r.colour, kColourNames));
  visit("range", FieldPair(r.lo, r.hi));
  visit.newer("later", r.later);
}

namespace {

std::string refusal_of_fields(const nlohmann::json& j) {
  try {
    fields_from_json<Outer>(j);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(Fields, AreReadAsTheyAreWritten) {
  const Outer full = {"a",
                      {INFINITY, -INFINITY, NAN, 0.1},
                      NAN,
                      Inner{2, 3},
                      {{1, 2}, {-INFINITY, 4}},
                      Colour::red,
                      -1,
                      INFINITY,
                      "b"};
  const nlohmann::json j = fields_to_json(full);
  EXPECT_EQ(j.dump(),
            R"({"colour":"red","later":"b","many":[{"n":2,"x":1.0},{"n":4,"x":"-inf"}],"maybe":"nan",)"
            R"("numbers":["inf","-inf","nan",0.1],"one":{"n":3,"x":2.0},"range":[-1.0,"inf"],"text":"a"})");
  EXPECT_EQ(fields_to_json(fields_from_json<Outer>(j)), j);
}

TEST(Fields, OfNothingAreNullOrAbsent) {
  const nlohmann::json j = fields_to_json(Outer{});
  EXPECT_EQ(j.dump(), R"({"later":"","many":[],"maybe":null,"numbers":[],"one":null,"range":[0.0,0.0]})");
  nlohmann::json old = j;
  old.erase("later");
  EXPECT_EQ(fields_to_json(fields_from_json<Outer>(old)), j);
}

TEST(Fields, AreRefusedByName) {
  const nlohmann::json good = fields_to_json(Outer{});
  const auto changed = [&](const char* field, const nlohmann::json& v) {
    nlohmann::json j = good;
    j[field] = v;
    return refusal_of_fields(j);
  };
  EXPECT_EQ(refusal_of_fields(good), "");
  EXPECT_EQ(changed("colour", "two\nlines"), "field colour: \"two\\nlines\" is not known");
  EXPECT_EQ(changed("maybe", "infinity"), "field maybe: \"infinity\" is not a number");
  EXPECT_EQ(changed("numbers", 1), "field numbers: is not a list");
  EXPECT_TRUE(changed("one", {{"x", true}, {"n", 1}}).starts_with("field one: field x: "));
  for (const nlohmann::json& n :
       {nlohmann::json(1.5), nlohmann::json(1e40), nlohmann::json(true), nlohmann::json("1")})
    EXPECT_EQ(changed("one", {{"x", 1}, {"n", n}}), "field one: field n: is not a whole number") << n;
  for (const nlohmann::json& n : {nlohmann::json(std::int64_t{1} << 31), nlohmann::json(~std::uint64_t{0})})
    EXPECT_EQ(changed("one", {{"x", 1}, {"n", n}}),
              "field one: field n: is a number that is too large or too small");
  EXPECT_TRUE(changed("many", {{{"x", 1}}}).starts_with("field many: field n: "));
  EXPECT_TRUE(changed("range", {1}).starts_with("field range: "));
  EXPECT_TRUE(refusal_of_fields(3).starts_with("field numbers: "));
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// What a callable's parameters are taken for: by --arg, by their names, by their positions. There are no
// verdicts here: reports/cli/check/python_operands_test.cpp has them.
#include <gtest/gtest.h>

#include "kernels/isolation/isolation_test.hpp"
#include "kernels/python/python_test.hpp"
#include "reference/error.hpp"

namespace assay {
namespace {

Variant raw(const std::string& function, const std::vector<std::string>& arguments = {},
            Op op = Op::softmax) {
  PythonCallable c = callable("raw_operands.py", function);
  c.arguments = arguments;
  c.op = op;
  return load_python(c).at(0);
}

std::string operands(const std::string& function, const std::vector<std::string>& arguments = {}) {
  return text_of(raw(function, arguments).operands);
}

std::string refusal_of_operands(const std::string& function, const std::vector<std::string>& arguments = {},
                                Op op = Op::softmax) {
  try {
    raw(function, arguments, op);
  } catch (const InputError& e) {
    const std::string text = e.what(), who = "raw_operands.py:" + function + ": ";
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text.starts_with(who) ? text.substr(who.size()) : text;
  }
  return "it was accepted";
}

TEST(PythonOperands, NamesAndArgumentsSayWhatIsRead) {
  ASSAY_NEEDS_PYTHON("ctypes");
  EXPECT_EQ(operands("any_name"), "");
  EXPECT_EQ(operands("scaled"), "scale");
  EXPECT_EQ(operands("cut"), "lengths:i64");
  EXPECT_EQ(operands("cut", {"lengths=lengths:i32"}), "lengths:i32");
  EXPECT_EQ(operands("masked", {"mask=mask_keep"}), "mask_keep:u8");
  EXPECT_EQ(operands("masked", {"mask=mask_drop:i32"}), "mask_drop:i32");
  EXPECT_EQ(operands("masked", {"mask=bias:bf16"}), "bias:bf16");
  EXPECT_EQ(operands("two_biases", {"bias_row=None"}), "bias:f32");
  EXPECT_EQ(operands("two_biases", {"bias=0"}), "bias_row:f32");
  EXPECT_EQ(operands("two_unknown", {"a=temperatures", "b=out"}), "temperatures");
  const std::string file = raw("masked", {"mask=mask_keep"}).file;
  EXPECT_NE(file.find("host memory, mask as mask_keep; "), std::string::npos) << file;
}

TEST(PythonOperands, ABiasHasTheTypeOfTheLogits) {
  ASSAY_NEEDS_PYTHON("ctypes");
  PythonCallable c = callable("raw_operands.py", "masked");
  c.types = {{Dtype::f16, Dtype::f32}, {Dtype::bf16, Dtype::bf16}};
  c.arguments = {"mask=bias"};
  const std::vector<Variant> all = load_python(c);
  EXPECT_EQ(text_of(all.at(0).operands), "bias:f16");
  EXPECT_EQ(text_of(all.at(1).operands), "bias:bf16");
}

// The names of the parameters of the file's functions, passed in every way that Python has.
TEST(PythonOperands, EveryParameterGetsWhatItIs) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const struct {
    const char* function;
    std::vector<std::string> arguments;
  } all[] = {{"any_name", {}},
             {"keyword_alone", {}},
             {"switch", {}},
             {"blas", {}},
             {"masked_by_default", {"mask=None"}},
             {"rows_and_columns", {"out=out", "x=in", "n_rows=rows", "n_columns=V", "block=16"}}};
  for (const auto& one : all) {
    isolation::Trial t(3, 33);
    EXPECT_EQ(t.run(raw(one.function, one.arguments)).fault, "") << one.function;
    EXPECT_TRUE(t.right()) << one.function;
  }
  isolation::Trial t(3, 33);
  EXPECT_EQ(t.run(raw("any_words", {"flag=True", "eps=-0.5", "what=None"})).fault, "");
}

TEST(PythonOperands, AMaskIsNoOutputAndIsAskedAbout) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const std::string question =
      "mask is a mask: what does it mean? --arg mask=mask_keep leaves out what is False; --arg "
      "mask=mask_drop leaves out what is True; --arg mask=bias adds it";
  EXPECT_EQ(refusal_of_operands("masked"), question);
  EXPECT_EQ(refusal_of_operands("masked_by_default"), question + "; --arg mask=None passes no mask");
}

TEST(PythonOperands, WhatSaysTooLittleIsAskedAbout) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const std::string says =
      "=VALUE (16, None) or --arg n=ROLE (rows, V, mask_keep, mask_drop, bias, bias_row, lengths, "
      "temperatures, scale, temperature) says it";
  EXPECT_EQ(refusal_of_operands("one_unknown"), "what is n? --arg n" + says);
  const std::string two = refusal_of_operands("two_unknown");
  EXPECT_TRUE(
      two.starts_with("which of a and b is the output? --arg NAME=out says it. For another parameter, --arg "
                      "NAME=VALUE (16, None) or --arg NAME=ROLE (rows, V, "))
      << two;
  EXPECT_EQ(refusal_of_operands("two_unknown", {"a=out", "b=3"}), "it was accepted");
  EXPECT_EQ(refusal_of_operands("two_scales"),
            "scale already is the scale: --arg sm_scale=... says what sm_scale is");
  EXPECT_EQ(refusal_of_operands("two_biases"),
            "bias is bias and bias_row is bias_row: a call has one of them");
  EXPECT_EQ(refusal_of_operands("nobody"), "no parameter is left for the logits");
  EXPECT_EQ(refusal_of_operands("placed"),
            "scale has no keyword, so flag in front of it needs a value: --arg flag=VALUE");
  EXPECT_EQ(refusal_of_operands("any_name", {"z=1"}),
            "--arg z=1: no such parameter: its parameters are x and y");
  EXPECT_EQ(refusal_of_operands("nobody", {"z=1"}), "--arg z=1: no such parameter: it has none");
  EXPECT_EQ(refusal_of_operands("any_name", {"y=k"}), "softmax has no k: --arg y=... says what y is");
}

TEST(PythonOperands, ATopKHasFactorsOfTheLogitsOnly) {
  ASSAY_NEEDS_PYTHON("ctypes");
  EXPECT_EQ(text_of(raw("top", {}, Op::topk).operands), "temperature");
  EXPECT_EQ(refusal_of_operands("masked", {}, Op::topk),
            "mask is not judged for topk: --arg mask=None checks it at that value and no other");
  EXPECT_EQ(
      refusal_of_operands("masked", {"mask=mask_keep"}, Op::softmax_topk),
      "mask: mask_keep is not judged for softmax_topk: --arg mask=None checks it at that value and no other");
  EXPECT_EQ(refusal_of_operands("scaled", {}, Op::softmax_topk),
            "scale: does it scale the logits or the results? --arg scale=scale says the logits; --arg "
            "scale=1 checks it at that value and no other");
  EXPECT_EQ(refusal_of_operands("top", {"temperature=1"}, Op::topk), "it was accepted");
  EXPECT_EQ(
      refusal_of_operands("top_into", {}, Op::topk),
      "what is values? A callable takes both outputs, values and indices, or none. --arg values=VALUE (16, "
      "None) or --arg values=ROLE (rows, V, scale, temperature, temperatures) says it");
  EXPECT_EQ(refusal_of_operands("top_into", {"values=out"}, Op::topk),
            "no parameter takes indices: a callable takes all outputs as parameters, or none");
}

}  // namespace
}  // namespace assay

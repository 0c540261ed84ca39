// SPDX-License-Identifier: Apache-2.0
// Parameters besides the logits: masks, biases, scales, lengths, and the squares of a causal kernel.
#include "kernels/adapter/entry/adapter_source.hpp"
#include "kernels/adapter/entry/roles_test.hpp"

namespace assay {
namespace {

using roles_test::read;
using roles_test::roles;

TEST(EntryRoles, OperandsBesideTheLogits) {
  EXPECT_EQ(read("void f(const float* x, float* y, const int* seq_lens, float scale, int rows, int V)"),
            "in out lengths scale rows V");
  EXPECT_EQ(
      read("void f(float* out, const float* in, const float* attn_bias, float softmax_scale, int N, int C)"),
      "out in bias scale rows V");
  EXPECT_EQ(
      read("void f(const half* logits, half* probs, const float* temperatures, int rows, int vocab_size)"),
      "in out temperature rows V");
  EXPECT_EQ(read("void f(const float* logits, float* probs, float temperature, int rows, int V)"),
            "in out temperature rows V");
  EXPECT_EQ(read("void f(float* scores, float inv_temperature, int rows, int V)"), "inout scale rows V");
  // The meaning of a mask is asked for, not guessed: the three meanings exclude each other.
  const char* const bytes = "void f(const float* x, const unsigned char* mask, float* y, int rows, int V)";
  EXPECT_NE(read(bytes).find("parameter 'mask' (const unsigned char*): a mask: what does it mean? --arg "
                             "mask=mask_keep leaves out what is 0; --arg mask=mask_drop"),
            std::string::npos)
      << read(bytes);
  EXPECT_EQ(read(bytes, {{"mask", "mask_drop"}}), "in mask_drop out rows V");
  const char* const reals = "void f(const half* x, const half* mask, half* y, int rows, int V)";
  EXPECT_NE(read(reals).find("--arg mask=bias adds it; "), std::string::npos) << read(reals);
  EXPECT_EQ(read(reals, {{"mask", "bias"}}), "in bias out rows V");
  EXPECT_NE(read(bytes, {{"mask", "bias"}}).find("bias is a pointer to half, bfloat16 or float"),
            std::string::npos);
  EXPECT_NE(read("void f(const float* x, float* y, int* idx, const int* lens, int rows, int V, int k)")
                .find("lengths is not judged for softmax_topk"),
            std::string::npos);
}

TEST(EntryRoles, ACausalKernelIsToldItsSquares) {
  const auto causal = [](const char* entry, std::vector<EntryArgument> arguments = {}) -> std::string {
    try {
      return roles(parse_entry(entry, arguments, {}, {}, true));
    } catch (const InputError& e) {
      return e.what();
    }
  };
  EXPECT_EQ(causal("void softmax_forward(float* out, float inv_temperature, const float* inp, int N, int T, "
                   "cudaStream_t s)"),
            "out scale in rows/V V stream");
  EXPECT_EQ(causal("void f(half* dst, const half* src, const float scale, int softmax_elements, int "
                   "softmax_elements_stride, int attn_batches)"),
            "out in scale V pitch rows/V");
  EXPECT_EQ(causal("void f(float* out, const float* in, int B, int NH, int T)"), "out in rows/V 1 V");
  EXPECT_EQ(causal("void f(const float* x, float* y, int batch, int heads, int q_len, int k_len)",
                   {{"q_len", "V"}, {"k_len", "V"}}),
            "in out rows/V 1 V V");
  EXPECT_EQ(causal("void f(const float* x, float* y, int batch_size, int num_heads, int seq_len)"),
            "in out rows/V 1 V");
  EXPECT_EQ(causal("void f(const float* x, float* y, int heads, int from_seq_len, int to_seq_len)"),
            "in out rows/V V V");
  // A parameter named rows is the rows. So is N, if no name says that V is a sequence.
  EXPECT_EQ(causal("void f(const float* x, float* y, int rows, int V)"), "in out rows V");
  EXPECT_EQ(causal("void f(const float* x, float* y, int N, int cols)"), "in out rows V");
  EXPECT_EQ(causal("void f(const float* x, float* y, int rows, int seq_len, int heads)"), "in out rows V 1");
  EXPECT_EQ(causal("void f(const float* x, float* y, int squares, int cols)", {{"squares", "rows/V"}}),
            "in out rows/V V");
  EXPECT_NE(causal("void f(const float* x, float* y, int squares, int cols)").find("'rows/V'"),
            std::string::npos);
  EXPECT_EQ(causal("void f(const float* x, float* y, int rows, int V, bool is_causal)"),
            "in out rows V true");
  EXPECT_EQ(read("void f(const float* x, float* y, int rows, int V, bool is_causal)"), "in out rows V false");
  EXPECT_NE(read("void causal_softmax(float* out, const float* in, int attn_batches, int T)")
                .find("--declare causal="),
            std::string::npos);
  AdapterFile file;
  const std::string text =
      adapter_source(file, {parse_entry("void f(const float* x, float* y, int N, int T)", {}, {}, {}, true)});
  EXPECT_NE(text.find("assay_arguments)/::assay_adapter::divisor("), std::string::npos) << text;
}

// Not everybody writes const. An operand is still what its name says, and not an index or a result.
TEST(EntryRoles, OperandsThatAreNotConst) {
  EXPECT_EQ(read("void f(float* x, float* y, int* lengths, int rows, int V)"), "in out lengths rows V");
  EXPECT_EQ(read("void f(float* x, float* y, float* temperatures, double scale, int rows, int V)"),
            "in out temperature scale rows V");
  const std::string mask = read("void f(float* x, float* y, unsigned char* mask, int rows, int V)");
  EXPECT_NE(mask.find("a mask: what does it mean? --arg mask=mask_keep"), std::string::npos) << mask;
  EXPECT_NE(mask.find("mask='workspace(rows * V)' lets the kernel write it"), std::string::npos) << mask;
  const std::string bias = read("void f(float* x, float* y, float* b2, int rows, int V)");
  EXPECT_NE(bias.find("bias, bias_row, mask_keep"), std::string::npos) << bias;
}

// A parameter that is not judged must not stay at its neutral value silently.
TEST(EntryRoles, AScaleThatWouldNotBeJudgedIsRefused) {
  const auto contains = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  contains(
      read("void softmax_backward(float* dx, const float* dy, const float* y, float scale, int rows, int V)"),
      "'scale' (float): scale is not judged for softmax_backward: --arg scale=1 checks it at that value and "
      "no "
      "other");
  contains(
      read("void top(const float* x, float* y, int* idx, const float* attn_bias, int rows, int V, int k)"),
      "bias is not judged for softmax_topk");
  EXPECT_EQ(
      read("void softmax_backward(float* dx, const float* dy, const float* y, float scale, int rows, int V)",
           {{"scale", "1"}}),
      "out gradients in 1 rows V");
  // In alpha softmax(x) + beta y, alpha is not a scale of the logits.
  EXPECT_NE(
      read("void f(float alpha, const float* x, float beta, float* y, int rows, int V)", {{"beta", "0"}})
          .find("'alpha' (float): not known what it is for"),
      std::string::npos);
  EXPECT_EQ(read("void f(const float* x, float alpha, float* y, int rows, int V)"), "in scale out rows V");
}

// A router's scale is a factor of its results; a sampler's temperature can only be one of the logits.
TEST(EntryRoles, ATopkHasATemperatureAndIsAskedAboutAScale) {
  const char* const router =
      "void top(const float* x, float* y, int* idx, float scale, int rows, int V, int k)";
  const std::string asked = read(router);
  EXPECT_NE(asked.find("'scale' (float): does it scale the logits or the results? --arg scale=scale says the "
                       "logits; --arg scale=1 checks it at that value and no other"),
            std::string::npos)
      << asked;
  EXPECT_EQ(read(router, {{"scale", "scale"}}), "in out indices scale rows V k");
  EXPECT_EQ(read(router, {{"scale", "1"}}), "in out indices 1 rows V k");
  EXPECT_EQ(read("void top(const half* x, half* y, int* idx, float inv_temperature, int rows, int V, int k)"),
            "in out indices scale rows V k");
  EXPECT_EQ(
      read("void top(const float* x, float* y, int* idx, const float* temperatures, int rows, int V, int k)"),
      "in out indices temperature rows V k");
  EXPECT_EQ(read("void min_p(const float* x, float* y, float temperature, float min_p, int rows, int V)"),
            "in out temperature threshold rows V");
}

TEST(EntryRoles, OperandsSayTheirTypes) {
  const auto operands = [](const char* entry, std::vector<EntryArgument> arguments = {}) {
    return text_of(parse_entry(entry, arguments).operands());
  };
  EXPECT_EQ(operands("void f(const float* x, float* y, int rows, int V)"), "");
  EXPECT_EQ(
      operands(
          "void f(const half* x, const bool* mask, half* y, float scale, const int64_t* lengths, int rows, "
          "int V)",
          {{"mask", "mask_keep"}}),
      "scale mask_keep:u8 lengths:i64");
  EXPECT_EQ(
      operands("void f(const float* x, const half* attn_bias, float* y, float temperature, int rows, int V)"),
      "temperature bias:f16");
  EXPECT_EQ(
      operands("void f(const float* x, const float* b, float* y, const float* temperatures, int rows, int V)",
               {{"b", "bias_row"}}),
      "temperatures bias_row:f32");
}

TEST(EntryRoles, AScaleOfSixteenBits) {
  const EntrySignature s =
      parse_entry("void f(const __half* src, __half* dst, const __half scale, int rows, int cols)");
  EXPECT_EQ(s.parameters[2].role, Role::scale);
  EXPECT_EQ(text_of(s.operands()), "scale:f16");
  EXPECT_EQ(parse_operands("scale:bf16")->scale, Dtype::bf16);
}

}  // namespace
}  // namespace assay

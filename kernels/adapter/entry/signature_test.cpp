// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/entry/signature.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "reference/error.hpp"

namespace assay {
namespace {

std::string every_role(const EntrySignature& s) {
  std::string text;
  for (const Parameter& p : s.parameters)
    text += (text.empty() ? "" : " ") + (p.role == Role::literal ? p.literal : std::string(name(p.role)));
  return text;
}
std::string every_role(const char* entry, std::vector<EntryArgument> arguments = {},
                       std::optional<Op> op = {}) {
  return every_role(parse_entry(entry, arguments, op));
}
std::string refusal_of_signature(const char* entry, std::vector<EntryArgument> arguments = {},
                                 std::optional<Op> op = {}) {
  try {
    parse_entry(entry, arguments, op);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(EntrySignature, ReadsTheUsualOrder) {
  const EntrySignature s =
      parse_entry("void softmax(const float* in, float* out, int rows, int V, cudaStream_t s)");
  EXPECT_EQ(s.function, "softmax");
  EXPECT_EQ(s.returned, Returned::nothing);
  EXPECT_EQ(every_role(s), "in out rows V stream");
  EXPECT_EQ(s.op, Op::softmax);
  EXPECT_EQ(s.in, Dtype::f32);
  EXPECT_EQ(s.limits(), "dense=yes; max_V=2147483647");
}

TEST(EntrySignature, ReadsOtherOrdersAndNames) {
  // The parameter orders of well-known kernels.
  EXPECT_EQ(every_role("void softmax_forward(float* out, const float* inp, int N, int C)"), "out in rows V");
  EXPECT_EQ(every_role("void f(const float *x, float *y, int M, int N)"), "in out rows V");
  EXPECT_EQ(every_role("void f(float* input, float* output, int batch_size, int dim)"), "in out rows V");
  EXPECT_EQ(every_role("void f(const float* d_in, float* d_out, int N, int n)"), "in out rows V");
  EXPECT_EQ(every_role("void f(const float* logits, float* probs, int n, int d)"), "in out rows V");
  EXPECT_EQ(every_role("void f(const float* x, float* y, int B, int N)"), "in out rows V");
  EXPECT_EQ(
      every_role(
          "cudaError_t f(void* stream, float scale, size_t rows, size_t cols, float* dst, const float* src)"),
      "stream scale rows V out in");
  EXPECT_EQ(
      every_role("void f(const float* in, int64_t in_pitch, float* out, int64_t out_row_stride, int64_t "
                 "rows, int64_t V)"),
      "in in_pitch out out_pitch rows V");
  EXPECT_EQ(every_role("int f(const float a[], float b[], int rows, int V);"), "in out rows V");
  EXPECT_EQ(every_role("void f(float* x, int rows, int V)"), "inout rows V");
  EXPECT_EQ(
      every_role("extern \"C\" void f(const float* __restrict__ x, float* __restrict__ y, unsigned rows, "
                 "long long V) noexcept"),
      "in out rows V");
  EXPECT_EQ(every_role("void f(const float*, float*, int rows, int)"), "in out rows V");
  EXPECT_EQ(every_role("void f(const float* in, float* out, float* m, float* d, int rows, int V)"),
            "in out m d rows V");
  EXPECT_EQ(every_role("void f(const float* in, float* out, int rows, int m)", {{"m", "V"}}),
            "in out rows V");
}

TEST(EntrySignature, ReadsTypesAndOps) {
  EntrySignature s = parse_entry(
      "void a::b::softmax_topk<__half, 256>(const __half* x, half* values, int* idx, int rows, int V, int "
      "k)");
  EXPECT_EQ(s.function, "a::b::softmax_topk<__half,256>");
  EXPECT_EQ(s.op, Op::softmax_topk);
  EXPECT_EQ(s.in, Dtype::f16);
  s = parse_entry("void f(const __nv_bfloat16* x, float* y, int rows, int V)");
  EXPECT_EQ(s.in, Dtype::bf16);
  EXPECT_EQ(s.out, Dtype::f32);
  s = parse_entry("template <typename T> void softmax<T>(const T* x, T* y, int rows, int V)", {}, {},
                  Dtype::bf16);
  EXPECT_EQ(s.function, "softmax<__nv_bfloat16>");
  EXPECT_EQ(s.in, Dtype::bf16);
  EXPECT_TRUE(entry_is_template("void softmax<T>(const T* x, T* y, int rows, int V)"));
  EXPECT_FALSE(entry_is_template("void softmax(const float* x, float* y, int rows, int V)"));
  EXPECT_EQ(parse_entry("void topk(const float* x, float* y, int64_t* idx, int rows, int V, int k)").op,
            Op::topk);
  EXPECT_EQ(parse_entry("void log_softmax(const float* x, float* y, int rows, int V)").op, Op::log_softmax);
  for (const char* function : {"topk_log_softmax", "best_logprobs"})
    EXPECT_EQ(parse_entry(std::string("void ") + function +
                          "(const float* x, float* y, int* idx, int rows, int V, int k)")
                  .op,
              Op::log_softmax_topk);
  EXPECT_EQ(parse_entry("void f(const float* x, float* lse, int rows, int V)").op, Op::lse);
  EXPECT_EQ(parse_entry("void f(const float* x, float* m, float* d, int rows, int V)").op, Op::normalizer);
  EXPECT_EQ(parse_entry("void f(const float* x, float* y, int rows, int V)", {}, Op::log_softmax).op,
            Op::log_softmax);
  EXPECT_EQ(parse_entry("void f(const float* x, float* y, int* idx, int rows, int V)", {{"k", "5"}}).fixed_k,
            5);
}

TEST(EntrySignature, TakesArguments) {
  EXPECT_EQ(every_role("void f(const float* a, float* b, int p, int q, int block)",
                       {{"p", "rows"}, {"q", "V"}, {"block", "256"}}),
            "in out rows V 256");
  EXPECT_EQ(every_role("void f(const float*, float*, int, int)", {{"4", "V"}}), "in out rows V");
  const EntrySignature s =
      parse_entry("void f(const float* in, float* out, void* ws, size_t ws_bytes, int rows, int V)",
                  {{"workspace_bytes", "rows * V * 4"}});
  EXPECT_EQ(every_role(s), "in out workspace workspace_bytes rows V");
  EXPECT_EQ(s.workspace_bytes, "rows * V * 4");
}

TEST(EntrySignature, SaysWhatWouldSettleIt) {
  const auto says = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  };
  says(refusal_of_signature("void f(const float* in, float* out, int N, int M)"), "--arg");
  says(refusal_of_signature("void f(const float* in, float* out, int N, int M)"), "'N' (int)");
  says(refusal_of_signature("void f(const float* in, float* out, int rows, int V, int block)"),
       "--arg block=VALUE");
  says(refusal_of_signature("void f(const float*, float*, int, int)"), "--arg 3=rows");
  says(refusal_of_signature("void f(const float* in, float* out, int rows)"), "--arg NAME=V");
  says(refusal_of_signature("void f(const float* in, const float* out, int rows, int V)"), "const");
  says(refusal_of_signature("void f(const double* in, double* out, int rows, int V)"), "unsupported: double");
  says(refusal_of_signature("void f(const float* in, float* out, void* ws, int rows, int V)"),
       "workspace_bytes=");
  says(refusal_of_signature("void f(const float* in, float* out, float* lse, int rows, int V)"),
       "--arg lse=");
  says(refusal_of_signature("void f(const float* in, float* out, int rows, int V, int k)"), "has no k");
  says(refusal_of_signature("void f(const float* in, float* out, float* y, int rows, int V)"),
       "already is 'out'");
  says(refusal_of_signature("void f(const void* in, void* out, int rows, int V)"), "--types");
  says(refusal_of_signature("void softmax<T>(const T* in, T* out, int rows, int V)"), "--types");
  says(refusal_of_signature("__global__ void f(const float* in)"), "launches it");
  says(refusal_of_signature("float f(const float* in)"), "'float'");
  says(refusal_of_signature("void f(const float* in, float* out, int rows, int V)", {{"x", "rows"}}),
       "no such parameter");
  says(refusal_of_signature("void f(const float* in, float* out, int rows, int V, int b)",
                            {{"b", "1); system(\"x\""}}),
       "neither a role");
  says(refusal_of_signature("void f(const float* in, float* out, std::vector<int> rows)"), "parameter 3");
  says(refusal_of_signature("softmax"), "no '('");
  says(refusal_of_signature(""), "no '('");
}

TEST(EntrySignature, TIsAlsoTheNameOfALength) {
  EXPECT_EQ(every_role("void f(float* out, const float* inp, int B, int T, int C)", {{"T", "1"}}),
            "out in rows 1 V");
  EXPECT_EQ(
      every_role("void f(float* out, const float* inp, int B, const int T = 1, int C = 2)", {{"T", "1"}}),
      "out in rows 1 V");
  EXPECT_NE(refusal_of_signature("void f(float* out, const float* inp, int B, unsigned int T, int C)")
                .find("--arg T=VALUE"),
            std::string::npos);
  EXPECT_FALSE(entry_is_template("void f(float* out, const float* inp, int B, int T, int C)"));
  EXPECT_FALSE(entry_is_template("void T(float* T, const float* scalar_t)"));
  for (const char* entry :
       {"void f(const T* in, T* out, int rows, int V)", "void f<T, 32>(const float* in)",
        "void f<int, T>(const float* in)", "void f(const float* in, const T)", "T f(int x)",
        "template <class T> void f(T const* in)", "inline void f(T T, int T)"})
    EXPECT_TRUE(entry_is_template(entry)) << entry;
  // A template parameter T and a number called T at once.
  const EntrySignature s =
      parse_entry("void f<T>(const T* in, T* out, int B, int T, int C)", {{"T", "1"}}, {}, Dtype::f16);
  EXPECT_EQ(s.function, "f<__half>");
  EXPECT_EQ(every_role(s), "in out rows 1 V");
  EXPECT_EQ(s.parameters[3].name, "T");
}

TEST(EntrySignature, SkipsAttributesAndDefaults) {
  for (const char* entry :
       {"[[nodiscard]] cudaError_t f(const float* in, float* out, int rows, int V, cudaStream_t s)",
        "extern \"C\" [[gnu::noinline, deprecated(\"a > b]\")]] static int f(const float* in, float* out, "
        "int "
        "rows, int V, cudaStream_t s) noexcept",
        "__attribute__((visibility(\"default\"))) int f([[maybe_unused]] const float* in, float* out, int "
        "rows, "
        "int V, cudaStream_t s)",
        "int f(const float* in, float* out, int rows = int{1}, int V = {}, cudaStream_t s = cudaStream_t{})",
        "int f(const float* in, float* out, int rows = f({1, 2}, a[3]), int V = 7, cudaStream_t s = {})"}) {
    EXPECT_EQ(every_role(entry), "in out rows V stream") << entry;
    EXPECT_EQ(parse_entry(entry).returned, Returned::status) << entry;
  }
  EXPECT_EQ(refusal_of_signature("[[nodiscard void f(const float* in)"),
            "--entry: an attribute is not closed");
  EXPECT_NE(refusal_of_signature("void f(const float* in, float* out, int rows, int V) {")
                .find("'{' after the parameters"),
            std::string::npos);
  EXPECT_NE(refusal_of_signature("void f<{1}>(const float* in, float* out, int rows, int V)")
                .find("template arguments"),
            std::string::npos);
  EXPECT_NE(
      refusal_of_signature("void f(const float* in, float* out, int rows, int V, int b)", {{"b", "int{1}"}})
          .find("neither a role nor a value"),
      std::string::npos);
}

TEST(EntrySignature, CommentsAreNoPartOfIt) {
  EXPECT_EQ(
      every_role(
          "void f(const float* in,  // the logits\n float* out /* and\n the results */, int rows, int V)"),
      "in out rows V");
  EXPECT_NE(refusal_of_signature("void f(const float* in /* the logits").find("a comment is not closed"),
            std::string::npos);
}

TEST(EntrySignature, RefusesValuesThatMakeNoSense) {
  const char* const plain =
      "void f(const float* in, float* out, int rows, int V, int b, unsigned u, short h, float x)";
  const auto says = [&](const std::vector<EntryArgument>& arguments, const char* part) {
    const std::string text = refusal_of_signature(plain, arguments);
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says({{"b", "1"}, {"b", "2"}}, "'b' is given twice");
  says({{"b", "2147483648"}}, "does not fit int");
  says({{"b", "99999999999999999999999"}}, "does not fit int");
  says({{"h", "-32769"}}, "does not fit short");
  says({{"u", "-1"}}, "does not fit unsigned");
  says({{"out", "5"}}, "a number is no float*");
  EXPECT_EQ(every_role(plain, {{"b", "-2147483648"}, {"u", "4294967295"}, {"h", "-32768"}, {"x", "0.5f"}}),
            "in out rows V -2147483648 4294967295 -32768 0.5f");
  EXPECT_NE(refusal_of_signature("void f(const float* in, float* in, int rows, int V)")
                .find("two parameters are called 'in'"),
            std::string::npos);
}

TEST(EntrySignature, EvaluatesTheWorkspaceBeforeItIsAskedFor) {
  const auto bytes = [](const char* formula) {
    return refusal_of_signature("void f(const float* in, float* out, void* ws, int rows, int V)",
                                {{"workspace_bytes", formula}});
  };
  for (const char* right :
       {"rows * V * 4", "(V + 255) / 256 * rows * 8ull", "rows << 3", "0x100", "16 + V % 4"})
    EXPECT_EQ(bytes(right), "accepted") << right;
  const std::pair<const char*, const char*> wrong[] = {
      {"rows*", "ends where a number is missing"},
      {"rows/0", "divides by 0"},
      {"4096 / V", "divides by 0 for 0 rows of 0"},
      {"rows % (V - V)", "divides by 0"},
      {"rows - 1", "is below 0"},
      {"rows V", "is not expected there"},
      {"(rows * V", "neither a role nor a value"},
      {"rows * 1e3", "is no whole number"},
      {"rows * block", "'block' is none of rows, V and k"},
      {"rows * V * 4611686018427387904", "is more than any machine has"}};
  for (const auto& [formula, why] : wrong)
    EXPECT_NE(bytes(formula).find(why), std::string::npos) << formula << ": " << bytes(formula);
}

TEST(EntrySignature, SurvivesAnyText) {
  // Pieces of declarations in any order. Each text is either read or refused, and quickly.
  const std::vector<std::string> pieces = {
      "void", "float",   "*",   "const", "int", "(",   ")", ",",    "<",        ">",
      "::",   "in",      "out", "rows",  "V",   "T",   "=", "[",    "]",        "&",
      "\n",   "N=rows",  "\"",  "std",   "k",   "256", " ", "long", "unsigned", "cudaStream_t s",
      "\xff", "softmax", "{",   "}",     "[[",  "]]"};
  std::mt19937 random(1);
  const auto start = std::chrono::steady_clock::now();
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = i % 2 ? "void f(const float* in, float* out, int rows, int V" : "";
    for (unsigned n = random() % 12; n > 0; --n)
      text += pieces[random() % pieces.size()] + (random() % 2 ? " " : "");
    if (i % 4 == 1) text += ")";
    read += fuzz_entry_signature(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  EXPECT_GT(read, 100);
  for (const char* piece : {"<", "(", "const ", "*", "::", "[", "x,"}) {
    std::string text = "void f(";
    while (text.size() < 1 << 20) text += piece;
    EXPECT_FALSE(fuzz_entry_signature(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
    text.resize(4000);
    EXPECT_FALSE(fuzz_entry_signature(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace assay

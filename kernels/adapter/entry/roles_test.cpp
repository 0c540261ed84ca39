// SPDX-License-Identifier: Apache-2.0
// Declarations of public launchers: what their names settle, and what is asked if they do not.
#include "kernels/adapter/entry/roles_test.hpp"

#include "kernels/adapter/entry/adapter_source.hpp"
#include "kernels/adapter/entry/call_source.hpp"

namespace assay {
namespace {

using roles_test::read;
using roles_test::roles;

TEST(EntryRoles, NamesOfRowsAndColumnsDecideInAnyOrder) {
  EXPECT_EQ(read("void f(float* out, const float* in, const int ncol, const int nrow)"), "out in V rows");
  EXPECT_EQ(read("void f(float* out, const float* in, const int nrow, const int ncol)"), "out in rows V");
  for (const char* rows :
       {"n_rows", "numRows", "batchSize", "row_count", "nbatch", "outer_dim", "num_tokens", "height"})
    for (const char* V :
         {"ncols", "n_cols", "numCols", "vocabSize", "num_classes", "last_dim", "to_seq_len", "width"})
      for (const char* type : {"int", "size_t", "int64_t", "uint32_t", "long", "unsigned", "dim_t", "index_t",
                               "std::size_t", "unsigned long long"}) {
        const std::string r = std::string(type) + " " + rows, v = std::string(type) + " " + V;
        EXPECT_EQ(read(("void f(const float* x, float* y, " + r + ", " + v + ")").c_str()), "in out rows V")
            << r << v;
        EXPECT_EQ(read(("void f(const float* x, float* y, " + v + ", " + r + ")").c_str()), "in out V rows")
            << r << v;
      }
}

TEST(EntryRoles, TheThresholdOfASampler) {
  const auto op_of = [](const char* entry, std::vector<EntryArgument> arguments = {}) {
    return parse_entry(entry, arguments).op;
  };
  constexpr const char* kMinP = "void f(const float* x, float* y, int rows, int V, float min_p)";
  constexpr const char* kTopP = "void nucleus(const float* x, float* y, int rows, int V, double threshold)";
  constexpr const char* kNoName = "void f(const float* x, float* y, int rows, int V, float p)";
  EXPECT_EQ(read(kMinP), "in out rows V threshold");
  EXPECT_EQ(op_of(kMinP), Op::min_p);
  EXPECT_EQ(read(kTopP), "in out rows V threshold");
  EXPECT_EQ(op_of(kTopP), Op::top_p);
  EXPECT_EQ(op_of("void topP(const float* x, float* y, int rows, int V, float p)", {{"p", "threshold"}}),
            Op::top_p);
  EXPECT_EQ(read(kNoName, {{"p", "threshold"}}, Op::min_p), "in out rows V threshold");
  // Where names do not say it, one line asks.
  const auto says = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(read(kNoName, {{"p", "threshold"}}), "--op min_p or --op top_p");
  says(read(kNoName, {}, Op::top_p), "--arg p=threshold says so");
  says(read(kNoName), "threshold)");
  says(read(kMinP, {}, Op::softmax), "--arg min_p=VALUE");
  says(read("void f(const float* x, float* y, int rows, int V)", {}, Op::top_p), "--arg NAME=threshold");
  says(read("void f(const float* x, float* y, int rows, int V, float min_p, float top_p)", {}, Op::top_p),
       "threshold already is 'min_p'");
  EXPECT_EQ(read("void f(const float* x, float* y, int rows, int V, float min_p, float top_p)",
                 {{"min_p", "0"}}, Op::top_p),
            "in out rows V 0 threshold");
  says(read("void f(const float* x, float* y, int rows, int V, int p)", {{"p", "threshold"}}, Op::top_p),
       "threshold is a float");
  says(read("void f(const float* x, float* y, float* p, int rows, int V)", {{"p", "threshold"}}, Op::top_p),
       "which is a number");
  EXPECT_EQ(read("void f(const float* x, float* y, int rows, int V, float top_p, float temperature)"),
            "in out rows V threshold temperature");
  EXPECT_EQ(parse_entry(kMinP).limits(), "dense=yes; max_V=2147483647");
  const char* const kPitched =
      "void top_p(const float* x, float* y, int rows, int V, int x_stride, int y_stride, float p)";
  EXPECT_EQ(parse_entry(kPitched, {{"p", "threshold"}}).limits(), "max_V=2147483647");
}

TEST(EntryRoles, ABackwardPassReadsWhatTheSoftmaxWroteAndTheGradients) {
  const char* const kEntries[] = {
      "void softmax_backward(float* dx, const float* dy, const float* y, int rows, int V)",
      "void softmax_bwd(half* grad_input, const half* grad_output, const half* output, int rows, int cols)",
      "void softmax_backward(float* d_input, const float* d_output, const float* output, int rows, int V)",
      "void softmax_backward(float* d_dx, const float* d_dy, const float* d_y, int rows, int V)",
      "void softmaxGrad(float* dinp, const float* dout, const float* softmax_results, int rows, int cols)",
      "void softmax_grad(float* grad_x, const float* grads, const float* probs, int n_rows, int n_cols)"};
  for (const char* entry : kEntries) {
    EXPECT_EQ(read(entry), "out gradients in rows V") << entry;
    EXPECT_EQ(parse_entry(entry, {}, {}).op, Op::softmax_backward) << entry;
  }
  // If one role is known, the other follows.
  EXPECT_EQ(read("void softmax_backward(float* dx, const float* a, const float* y, int rows, int V)"),
            "out gradients in rows V");
  EXPECT_EQ(
      read("void f(float* dx, const float* dy, const float* y, int rows, int V)", {}, Op::softmax_backward),
      "out gradients in rows V");
  EXPECT_EQ(read("void f(float* a, const float* b, const float* c, int rows, int V)",
                 {{"b", "gradients"}, {"c", "in"}}),
            "out gradients in rows V");
  EXPECT_NE(read("void softmax_backward(float* dx, const float* a, const float* b, int rows, int V)")
                .find("gradients"),
            std::string::npos);
  EXPECT_NE(read("void softmax_backward(float* dx, const float* dy, int rows, int V)")
                .find("what the softmax wrote"),
            std::string::npos);
  EXPECT_NE(read("void softmax(float* out, const float* in, const float* g, int rows, int V)",
                 {{"g", "gradients"}}, Op::softmax)
                .find("softmax has no gradients"),
            std::string::npos);
  EXPECT_NE(read("void softmax_backward(float* dx, const half* dy, const float* y, int rows, int V)")
                .find("another type"),
            std::string::npos);
}

TEST(EntryRoles, HeadsAndSequencesAreFactorsOfTheRows) {
  EXPECT_EQ(read("void f(float* inout, int batch_size, int nhead, int from_seq_len, int to_seq_len, "
                 "cudaStream_t s)"),
            "inout rows 1 1 V stream");
  EXPECT_EQ(read("void f(const half* in, half* out, int to_len, int from_len, int heads)"),
            "in out V rows 1");
  EXPECT_EQ(read("void f(const float* in, float* out, int batch, int seq_len)"), "in out rows V");
  EXPECT_EQ(read("void f(const float* in, float* out, int seq_len, int vocab_size, int batch)"),
            "in out 1 V rows");
  EXPECT_EQ(read("void f(const float* in, float* out, int seq_len, int vocab_size)"), "in out rows V");
  // Is it [batch, heads, seq_len, seq_len], or one row for each head? No name says it.
  EXPECT_EQ(read("void f(const float* in, float* out, int batch, int heads, int seq_len)"),
            "--entry: which of 'heads' (int) and 'seq_len' (int) is the length of a row? --arg heads=V, or "
            "--arg seq_len=V");
}

TEST(EntryRoles, CountsAreProducts) {
  EXPECT_EQ(read("void f(const float* in, float* out, int rows, int V, size_t size)"),
            "in out rows V rows*V");
  EXPECT_EQ(read("void f(const float* in, float* out, int numel, int dim)"), "in out rows*V V");
  EXPECT_EQ(read("void f(const float* in, float* out, int total_elements, int batch)"), "in out rows*V rows");
  EXPECT_EQ(read("void f(const float* in, float* out, long n, int dim)", {{"n", "rows*V"}}),
            "in out rows*V V");
  EXPECT_EQ(read("void f(const float* in, float* out, int cols, int groups)", {{"groups", "(rows + 3) / 4"}}),
            "in out V (rows + 3) / 4");
  EXPECT_EQ(
      read("void f(const float* in, float* out, int cols)"),
      "--entry: no parameter is the number of rows: --arg NAME=rows says which; --arg rows=1 says that a "
      "call has one row: it is called for each");
  // If one of rows and V is known, a size can be the other one or the product.
  EXPECT_EQ(read("void f(const float* in, float* out, int size, int dim)"),
            "--entry: parameter 'size' (int): is it the number of rows? --arg size=rows says so; --arg "
            "size='rows*V' "
            "says that it is the number of elements");
  EXPECT_EQ(read("void f(const float* in, float* out, int rows, int V, int n)", {{"n", "rows*"}}),
            "--arg 'n=rows*': ends where a number is missing");
  EXPECT_EQ(parse_entry("void f(const float* in, float* out, int n, int dim)").find(Role::rows)->name, "n");
}

TEST(EntryRoles, ALonePointerIsBoth) {
  EXPECT_EQ(read("void softmax(float* x, int rows, int cols)"), "inout rows V");
  EXPECT_EQ(read("void softmax(float* output, int rows, int cols)"), "inout rows V");
  EXPECT_EQ(read("void softmax(half* vals, int rows, int cols, cudaStream_t s)"), "inout rows V stream");
  EXPECT_EQ(read("void softmax(float* buf, int rows, int cols)"), "inout rows V");
  EXPECT_EQ(read("void softmax(const float* x, int rows, int cols)"),
            "--entry: no parameter is the results: --arg NAME=out says which");
}

TEST(EntryRoles, TypesOfPointersStandAboveTheirNames) {
  EXPECT_EQ(read("void f(float* x, const float* y, int rows, int cols)"), "out in rows V");
  EXPECT_EQ(read("void f(const float* a, float* b, int rows, int cols)"), "in out rows V");
  EXPECT_EQ(read("void f(float* a, float* b, int rows, int cols)"),
            "--entry: which of 'a' (float*) and 'b' (float*) is the logits, and which the results? --arg "
            "a=in --arg "
            "b=out, or --arg a=out --arg b=in");
  EXPECT_EQ(read("void f(const float4* in, float4* out, int rows, int cols)"), "in out rows V");
  EXPECT_EQ(read("void f(const __half2* in, __half2* out, int rows, int cols)"), "in out rows V");
}

TEST(EntryRoles, ASuggestionNeverTransposes) {
  EXPECT_EQ(read("void f(float* out, const float* in, const int p, const int q)"),
            "--entry: which of 'p' (const int) and 'q' (const int) is the number of rows, and which the "
            "length of a row? "
            "--arg p=rows --arg q=V, or --arg p=V --arg q=rows");
  EXPECT_EQ(
      read("void f(float* out, const float* in, int p, int q, int z)"),
      "--entry: which of 'p' (int), 'q' (int) and 'z' (int) is the number of rows, and which the length of a "
      "row? --arg NAME=rows --arg NAME=V, and --arg NAME=VALUE for the others");
  EXPECT_EQ(read("void f(float* out, const float* in, int p, int q, int cols)"),
            "--entry: which of 'p' (int) and 'q' (int) is the number of rows? --arg p=rows, or --arg q=rows");
}

TEST(EntryRoles, OneRowToACall) {
  const char* const one = "void softmax(const float* in, float* out, int n)";
  EXPECT_EQ(read(one),
            "--entry: parameter 'n' (int): is it the length of the one row that a call has? --arg n=V --arg "
            "rows=1 says so");
  EntrySignature s = parse_entry(one, {{"n", "V"}, {"rows", "1"}});
  EXPECT_TRUE(s.one_row);
  EXPECT_EQ(roles(s), "in out V");
  EXPECT_EQ(s.limits(), "max_V=2147483647");  // because rows may lie apart
  EXPECT_TRUE(parse_entry(one, {{"rows", "1"}}).one_row);
  s = parse_entry("void f(const float* in, float* out, int rows, int V)", {{"rows", "1"}});
  EXPECT_TRUE(s.one_row);
  EXPECT_EQ(roles(s), "in out 1 V");
  EXPECT_NE(read("void f(const float* in, float* out, int batch, int V)", {{"rows", "1"}})
                .find("--arg batch=1 as well"),
            std::string::npos);
  EXPECT_FALSE(parse_entry("void f(const float* in, float* out, int rows, int V)").one_row);
}

TEST(EntryRoles, OneRoleForTwoParametersWhereBothAreNamed) {
  const char* const two = "void f(const float* in, float* out, int rows, int V, int cols)";
  EXPECT_NE(read(two).find("V already is 'V'"), std::string::npos) << read(two);
  EXPECT_EQ(read(two, {{"V", "V"}, {"cols", "V"}}), "in out rows V V");
  EXPECT_EQ(read(two, {{"cols", "V"}}), "in out rows V V");
  EXPECT_EQ(read("void f(float* x, float* y, int rows, int V)", {{"x", "inout"}, {"y", "inout"}}),
            "inout inout rows V");
}

TEST(EntryRoles, WorkspacesOfTheirOwnSizes) {
  const char* const two = "void f(const float* in, float* out, float* tmp, float* lse, int rows, int V)";
  EXPECT_NE(read(two).find("--arg lse='workspace(rows * V * 4)'"), std::string::npos) << read(two);
  EXPECT_NE(read(two, {{"lse", "workspace(rows)"}}).find("--arg workspace_bytes="), std::string::npos)
      << read(two, {{"lse", "workspace(rows)"}});
  EXPECT_NE(read(two, {{"tmp", "workspace(rows)"}}).find("--arg lse='workspace(rows * V * 4)'"),
            std::string::npos)
      << read(two, {{"tmp", "workspace(rows)"}});
  const EntrySignature s =
      parse_entry(two, {{"tmp", "workspace(rows * V * 4)"}, {"lse", "workspace(rows*4)"}});
  EXPECT_EQ(roles(s), "in out workspace workspace rows V");
  EXPECT_EQ(s.workspace_bytes, "((rows * V * 4) + 255) / 256 * 256 + (rows*4)");
  EXPECT_EQ(s.parameters[2].offset, "");
  EXPECT_EQ(s.parameters[3].offset, "((rows * V * 4) + 255) / 256 * 256");
  EXPECT_EQ(read(two, {{"tmp", "workspace(rows*)"}, {"lse", "workspace(4)"}}),
            "--arg tmp=workspace'rows*': ends where a number is missing");
  EXPECT_EQ(read("void f(const float* in, float* out, void* workspace_buffer, size_t workspace_size, int "
                 "rows, int V)",
                 {{"workspace_bytes", "8*rows"}}),
            "in out workspace workspace_bytes rows V");
}

TEST(EntryRoles, ReturnedValues) {
  const auto returned = [](const char* type) {
    return parse_entry((std::string(type) + " f(const float* in, float* out, int rows, int V)").c_str())
        .returned;
  };
  EXPECT_EQ(returned("void"), Returned::nothing);
  EXPECT_EQ(returned("int"), Returned::status);
  EXPECT_EQ(returned("cudaError_t"), Returned::status);
  EXPECT_EQ(returned("cublasStatus_t"), Returned::status);
  EXPECT_EQ(returned("bool"), Returned::success);
  EXPECT_NE(read("float f(const float* in, float* out, int rows, int V)")
                .find("it returns 'float': int and cudaError_t "
                      "(0 is success) and bool (true is success)"),
            std::string::npos);
}

TEST(EntryRoles, DefaultsSwitchesAndTypesOfTheFile) {
  EXPECT_EQ(
      read("void f(const float* in, float* out, int rows, int V, int block = 256, float* lse = nullptr)"),
      "in out rows V 256 nullptr");
  EXPECT_EQ(read("void f(const float* in, float* out, int rows, int V, bool is_causal)"),
            "in out rows V false");
  const char* const best =
      "void f(const float* in, float* out, int* idx, int rows, int V, int k, bool is_log = false)";
  EXPECT_NE(read(best, {}, Op::log_softmax_topk).find("true"), std::string::npos)
      << read(best, {}, Op::log_softmax_topk);
  EXPECT_NE(read(best, {}, Op::softmax_topk).find("false"), std::string::npos);
  EXPECT_EQ(read("void f(const float* in, float* out, int rows, int V, bool is_log)", {}, Op::log_softmax),
            "in out rows V true");
  // A default argument does not answer which of two parameters is the rows.
  EXPECT_NE(read("void f(const float* in, float* out, int p = 1, int q = 2)").find("which of 'p'"),
            std::string::npos);
  const char* const handle = "void f(cublasHandle_t h, const float* in, float* out, int rows, int V)";
  EXPECT_NE(read(handle).find("parameter 1: 'cublasHandle_t': a type that is not known"), std::string::npos)
      << read(handle);
  EXPECT_EQ(read(handle, {{"h", "nullptr"}}), "nullptr in out rows V");
}

TEST(EntryRoles, TheBackwardPassOfALogarithmIsNoneOfSoftmax) {
  const char* const entry =
      "void log_softmax_backward(float* dx, const float* dy, const float* y, int rows, int V)";
  EXPECT_NE(read(entry).find("only the backward pass of softmax can be judged"), std::string::npos)
      << read(entry);
  EXPECT_EQ(read(entry, {}, Op::softmax_backward), "out gradients in rows V");
}

TEST(EntryRoles, TheCallIsWrittenFromThem) {
  const EntrySignature s =
      parse_entry("bool f(const float* in, float* out, dim_t rows, int V, int n, float* tmp, float* more)",
                  {{"n", "rows*V"}, {"tmp", "workspace(4*V)"}, {"more", "workspace(rows)"}});
  const std::string text = adapter_source(AdapterFile(), {s}) + call_source({s}, "_x");
  for (const char* part :
       {"return ::assay_adapter::status_of_success(returned != 0);", "{assay_own_integer_x{n[2], 2}}",
        "assay_number_x<int>(n[4], 4)",
        "::assay_adapter::value<int64_t, 5>(assay_arguments)*::assay_adapter::value<int64_t, 6>"
        "(assay_arguments)",
        "return static_cast<uint64_t>(((4*V) + 255) / 256 * 256 + (rows));", "n.one_row = false"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(EntryRoles, NamesOfTheLogitsSide) {
  const EntrySignature s = parse_entry(
      "void f(const float* x, float* dst, const int ncols_x, const int nrows_x, cudaStream_t stream)");
  EXPECT_EQ(s.parameters[2].role, Role::V);
  EXPECT_EQ(s.parameters[3].role, Role::rows);
}

TEST(EntryRoles, ALengthThatNoParameterSays) {
  const EntrySignature s = parse_entry(
      "void softmax_4099(const float* input, float* output, size_t M, cudaStream_t stream)", {{"V", "4099"}});
  EXPECT_EQ(s.parameters[2].role, Role::rows);
  EXPECT_EQ(s.limits(), "dense=yes; V_in={4099}");
  EXPECT_THROW(parse_entry("void f(const float* in, float* out, int rows)", {{"V", "0"}}), InputError);
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// A CUDA file rewritten for the host executor keeps its lines, its quoted text and its macros.
#include "kernels/adapter/compile/host_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

namespace assay {
namespace {

TEST(HostSource, KeepsLinesAndQuotedText) {
  const std::string source =
      "// k<<<1, 1>>>(x) stays\n"
      "const char* s = \"k<<<1, 1>>>(x) __shared__\"; auto r = R\"(\n__shared__ int a;)\";\n"
      "__global__ void k(int* p) {\n  __shared__ float a[4]\n    [8], b;\n  __shared__ alignas(16) struct { "
      "int n; } c;\n}\n"
      "void f(int* p) {\n  k<<<1,\n    2>>>(p /* > */);\n  t::k<int, (3 > 2)><<<dim3(1), f<2>(), 0, s>>>(p, "
      "g(1, 2));\n}\n";
  const std::string out =
      host_source(source, "a \"b\".cu", [](std::string_view, bool) { return std::string(); });
  EXPECT_TRUE(out.starts_with("#line 1 \"a \\\"b\\\".cu\"\n")) << out;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), std::count(source.begin(), source.end(), '\n') + 1)
      << out;
  EXPECT_NE(out.find("// k<<<1, 1>>>(x) stays"), std::string::npos);
  EXPECT_NE(out.find("\"k<<<1, 1>>>(x) __shared__\""), std::string::npos);
  EXPECT_NE(out.find("\n__shared__ int a;)\""), std::string::npos);
  EXPECT_EQ(out.find("__shared__ float"), std::string::npos) << out;
  EXPECT_NE(out.find("::assay_cuda::launch(dim3(1), f<2>(), 0, s)"), std::string::npos) << out;
  EXPECT_NE(out.find("t :: k < int , ( 3 > 2 ) >(assay_a...)"), std::string::npos) << out;
}

TEST(HostSource, LaunchesInMacrosThatGoOnInTheNextLine) {
  const std::string source =
      "#define L(n, x) case n: \\\n  k<n, float> \\\r\n  <<<rows, 32, /* a */ \\\n 0, s>>>(in, \\\n #x); \\\n"
      "  break;\nvoid f() {\n  __shared__ int \\\n a;\n}\n";
  const std::string out = host_source(source, "m.cu", [](std::string_view, bool) { return std::string(); });
  EXPECT_EQ(out.find("<<<"), std::string::npos) << out;
  EXPECT_NE(out.find("k < n , float >(assay_a...)"), std::string::npos) << out;
  EXPECT_NE(out.find("#x"), std::string::npos) << out;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), std::count(source.begin(), source.end(), '\n') + 1)
      << out;
  // Every line of the macro except the last must end in a splice.
  std::istringstream lines(out.substr(out.find("#define")));
  std::string line;
  for (int n = 0; n < 5; ++n) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_TRUE(line.ends_with("\\") || line.ends_with("\\\r")) << line;
  }
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_TRUE(line.ends_with("break;")) << line;
}

}  // namespace
}  // namespace assay

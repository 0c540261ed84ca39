// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/units/left_out.hpp"

#include <gtest/gtest.h>

#include <string>

namespace assay {
namespace {

std::string left_out(const char* text) {
  std::string s;
  for (const LeftOut& l : left_out_on_host(text))
    s += (l.only_on_host ? "host " : "") + std::to_string(l.from) + "-" + std::to_string(l.to) + " " +
         l.macro + ";";
  return s;
}

TEST(LeftOutOnHost, BranchesThatAskForNvcc) {
  EXPECT_EQ(left_out("#ifdef __CUDACC__\n#define F 1.05f\n#else\n#define F 1.0f\n#endif\n"),
            "2-2 __CUDACC__;host 4-4 __CUDACC__;");
  EXPECT_EQ(left_out("#ifndef __NVCC__\nint a;\n#else\n\nint b;\nint c;\n#endif\n"),
            "host 2-2 __NVCC__;5-6 __NVCC__;");
  EXPECT_EQ(
      left_out("#if __CUDA_ARCH__ >= 800\na();\n#elif __CUDA_ARCH__ >= 700\nb();\n#else\nc();\n#endif\n"),
      "2-2 __CUDA_ARCH__;4-4 __CUDA_ARCH__;host 6-6 __CUDA_ARCH__;");
  EXPECT_EQ(left_out("#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800\na();\n#else\nb();\n#endif\n"),
            "host 2-2 __CUDA_ARCH__;4-4 __CUDA_ARCH__;");
  EXPECT_EQ(
      left_out("#if defined(MINE) && defined __CUDACC__\na();\n#ifdef __CUDACC__\nb();\n#endif\n#endif\n"),
      "2-4 __CUDACC__;");
  EXPECT_EQ(left_out("#if defined(MINE) || defined(__CUDACC__)\na();\n#endif\n"), "2-2 __CUDACC__;");
}

TEST(LeftOutOnHost, BranchesThatNvccDoesNotCompile) {
  EXPECT_EQ(left_out("#ifndef __CUDACC__\n#define __global__\n#endif\nint a;\n"), "host 2-2 __CUDACC__;");
}

TEST(LeftOutOnHost, OthersDoNot) {
  EXPECT_EQ(left_out("#ifdef MINE\na();\n#else\nb();\n#endif\n// #ifdef __CUDACC__\n"), "");
  EXPECT_EQ(left_out("#ifdef __CUDACC__\n\n// nothing\n#endif\n"), "");
  EXPECT_EQ(left_out("#endif\n#else\n#if\n#ifdef\n#if ((((\n"), "");
}

}  // namespace
}  // namespace assay

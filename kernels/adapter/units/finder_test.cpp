// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/units/finder.hpp"

#include <gtest/gtest.h>

#include <string>

#include "kernels/adapter/entry/signature.hpp"
#include "kernels/adapter/units/left_out.hpp"
#include "reference/error.hpp"

namespace assay {
namespace {

constexpr const char* kSource = R"(
#include <cuda_runtime.h>
namespace cg = cooperative_groups;
template <typename T> struct Sum { T operator()(T a, T b) const { return a + b; } void add(float* x) { } };
void Sum2::add(float* x) { }
__global__ void __launch_bounds__(256) rows(const float* x, float* y, int n) { y[0] = x[0]; }
__device__ __forceinline__ float most(float a, float b) { return a > b ? a : b; }
static int steps[] = {1, 2};
/* void commented(float* x) { } */
const char* text = "void quoted(float* x) {";
inline int ceil_div(int a, int b) { return (a + b - 1) / b; }
void launch(float* out, const float* inp, int N, int C, const int block_size) {
  if (N > 0) { rows<<<N, block_size>>>(inp, out, C); }
}
extern "C" { cudaError_t from_c(const float *x, float *y, int rows, int cols, cudaStream_t stream) { return cudaSuccess; } }
namespace lib { namespace detail { template <typename scalar, int N = 4>
void many(const scalar* in, scalar* out, std::size_t n, int V) { } }
namespace { bool hidden(float* x, unsigned int rows, unsigned int V) noexcept { return true; } } }
template <class DT> void generic(const DT* in, DT* out, int rows, int V, cudaStream_t s) { }
void twice(float* x, int rows, int V) { }
void twice(__half* x, int rows, int V) { }
template <typename T> void special(T* x, int rows, int V);
template <> void special<float>(float* x, int rows, int V) { }
template <> void special<__half>(__half* x, int rows, int V) { }
template <> void deduced(float* x, int rows, int V) { }
int main(int n, char** words) { return 0; }
)";

TEST(EntryFinder, FindsWhatTheHostCanCall) {
  std::string all;
  for (const FoundFunction& f : functions_in(kSource)) all += f.name + " ";
  EXPECT_EQ(all,
            "ceil_div launch from_c lib::detail::many lib::hidden generic twice twice special<float> "
            "special<__half> deduced ");
  EXPECT_EQ(
      name_functions(functions_in(kSource)),
      "; its functions: 'launch', 'from_c', 'lib::detail::many', 'lib::hidden', 'generic', 'twice', 'twice', "
      "'special<float>', ...");
  EXPECT_EQ(functions_in(kSource)[1].line, 12);
}

TEST(EntryFinder, ANameBecomesItsDeclaration) {
  EXPECT_EQ(find_entry("launch", kSource),
            "void launch(float* out, const float* inp, int N, int C, const int block_size)");
  EXPECT_EQ(find_entry("hidden", kSource), "bool lib::hidden(float* x, unsigned int rows, unsigned int V)");
  const std::string whole = "void launch(float* a, const float* b, int rows, int V)";
  EXPECT_EQ(find_entry(whole, kSource), whole);
  EXPECT_EQ(find_entry("", kSource), "");
}

TEST(EntryFinder, ATemplateTakesItsArguments) {
  EXPECT_EQ(find_entry("many<float, 8>", kSource),
            "void lib::detail::many<float, 8>(const float* in, float* out, std::size_t n, int V)");
  EXPECT_EQ(find_entry("generic", kSource),
            "void generic<T>(const T* in, T* out, int rows, int V, cudaStream_t s)");
  EXPECT_EQ(parse_entry(find_entry("generic", kSource), {}, {}, Dtype::bf16).in, Dtype::bf16);
  EXPECT_EQ(parse_entry(find_entry("generic<__half>", kSource)).function, "generic<__half>");
}

TEST(EntryFinder, ASpecialisationIsFoundByItsArguments) {
  EXPECT_EQ(find_entry("special<float>", kSource), "void special<float>(float* x, int rows, int V)");
  EXPECT_EQ(find_entry("deduced<float>", kSource), "void deduced<float>(float* x, int rows, int V)");
  EXPECT_EQ(find_entry("special< __half >", kSource), "void special<__half>(__half* x, int rows, int V)");
}

/// What an entry is refused with.
std::string refusal_by_finder(const char* entry) {
  try {
    find_entry(entry, kSource);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(EntryFinder, AKernelIsNoLauncher) {
  const char* const source =
      "__global__ void __launch_bounds__(64) k(const float* x, int rows) {}\n"
      "void go(const float* x, int rows) { k<<<1, 64>>>(x, rows); }\n";
  try {
    find_entry("k", source);
    ADD_FAILURE() << "a kernel was taken for a launcher";
  } catch (const InputError& e) {
    EXPECT_STREQ(
        e.what(),
        "--entry 'k': is a __global__ kernel: name the function that launches it; its functions: 'go'");
  }
  EXPECT_THROW(find_entry("rows", source), InputError);
}

TEST(EntryFinder, SaysWhatThereIs) {
  EXPECT_EQ(refusal_by_finder("lunch").substr(0, 66),
            "--entry 'lunch': the file defines no such function; its functions:");
  EXPECT_EQ(refusal_by_finder("rows").substr(0, 45), "--entry 'rows': is a __global__ kernel: name ");
  EXPECT_EQ(refusal_by_finder("twice"),
            "--entry 'twice': the file has 2 functions of that name (lines 20, 21): give the declaration of "
            "one of them");
  EXPECT_EQ(refusal_by_finder("many"),
            "--entry 'many': a template is named with its arguments, as in 'many<float>': "
            "'template<typename scalar, int N=4> void lib::detail::many(co...'");
  EXPECT_NE(refusal_by_finder("launch<float>").find("it is no template"), std::string::npos);
}

TEST(EntryFinder, AnyTextIsSafe) {
  for (const char* text :
       {"", "}", "{", "void f(", "template <", "namespace {", "void f(int* x) {{{", ">(){", "extern \"C\" {"})
    EXPECT_LE(functions_in(text).size(), 1u) << text;
  std::string deep;
  for (int n = 0; n < 100000; ++n) deep += "namespace a {";
  EXPECT_TRUE(functions_in(deep + "void f(float* x) { }").empty());
}

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

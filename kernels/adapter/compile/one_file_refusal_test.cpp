// SPDX-License-Identifier: Apache-2.0
// The message for a file that cannot be compiled with the given options: one line that names the reason.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "kernels/adapter/compile/one_file_test.hpp"

namespace assay {
namespace {

using one_file_test::fixture;
using one_file_test::refusal;
namespace fs = std::filesystem;

TEST(OneFile, SaysWhatTheExecutorDoesNotSpeak) {
  for (const auto& [file, why] :
       {std::pair("pipeline.cu", "unsupported: executor: <cuda_pipeline.h> (the host"),
        std::pair("block_scan.cu", "unsupported: executor: cub::BlockScan (the host executor has no such")}) {
    const std::string text = refusal(
        fixture(file, "void softmax(const float* in, float* out, int rows, int V, cudaStream_t stream)"));
    EXPECT_NE(text.find(why), std::string::npos) << text;
    EXPECT_NE(text.find(std::string(file) + ":"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

TEST(OneFile, NamesWhatIsWrong) {
  EXPECT_NE(refusal(fixture("nowhere.cu", "void f()")).find("nowhere.cu: no such file"), std::string::npos);
  EXPECT_NE(refusal(fixture("", "void f()")).find("fixtures/: is a folder, and no file"), std::string::npos);
  EXPECT_NE(refusal(fixture("groups.cu", "")).find("--entry"), std::string::npos);
  const std::string text =
      refusal(fixture("shuffle_rows.cu", "void another(const float* in, float* out, int rows, int V)"));
  EXPECT_NE(text.find("has no function 'another'"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  // The function exists, but its parameters are different.
  const std::string other = refusal(
      fixture("shuffle_rows.cu", "void softmax_rows(const float* in, float* out, int rows, int V, int k)"));
  EXPECT_NE(other.find("has no k"), std::string::npos) << other;
  const std::string types = refusal(
      fixture("shuffle_rows.cu", "void softmax_rows(const __half* in, __half* out, int rows, int V)"));
  EXPECT_NE(types.find("does not compile"), std::string::npos) << types;
  EXPECT_NE(types.find(".log"), std::string::npos) << types;
  const fs::path quoted = fs::temp_directory_path() / ("a\"b" + std::to_string(getpid()) + ".cu");
  fs::copy_file(fixture("shuffle_rows.cu", "").source, quoted, fs::copy_options::overwrite_existing);
  OneFile q = fixture("", "void softmax_rows(float* out, const float* inp, int N, int C)");
  q.source = quoted.string();
  EXPECT_EQ(refusal(q), q.source + ": no #include can name a path with a quote in it: rename it");
  fs::remove(quoted);
  OneFile f = fixture("shuffle_rows.cu", "void softmax_rows(float* out, const float* inp, int N, int C)");
  f.build_dir = "/proc/nowhere";
  EXPECT_NE(refusal(f).find("build folder"), std::string::npos);
  OneFile block =
      fixture("shuffle_rows.cu", "void softmax_rows(float* out, const float* in, int N, int C, int b)");
  block.args = {"b=BLOCK_SIZE"};
  EXPECT_EQ(refusal(block), "--arg 'b=BLOCK_SIZE': 'BLOCK_SIZE' is not to be found in " + block.source);
}

TEST(OneFile, WithoutACompilerItSaysWhatToInstall) {
  const char* const path = std::getenv("PATH");
  const std::string before = path ? path : "";
  const char* const cxx = std::getenv("CXX");
  const std::string named = cxx ? cxx : "";
  setenv("PATH", "/nowhere", 1);
  unsetenv("CXX");
  const std::string text =
      refusal(fixture("shuffle_rows.cu", "void softmax_rows(float* out, const float* inp, int N, int C)"));
  setenv("PATH", before.c_str(), 1);
  if (cxx) setenv("CXX", named.c_str(), 1);
  EXPECT_NE(text.find("apt-get install g++ libboost-context-dev"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

TEST(OneFile, SaysInOneLineWhyTheFunctionCannotBeCalledLikeThat) {
  const auto ends = [](const char* entry, const std::string& end) {
    const OneFile f = fixture("places.cu", entry);
    const std::string text = refusal(f);
    EXPECT_TRUE(text.starts_with(f.source)) << text;
    EXPECT_NE(text.find(end), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  };
  ends("void plain(const float* in, float* out, int rows, int V)",
       ": 'plain' takes more arguments than --entry gives it: it is 'void plain(const float*, float*, int, "
       "int, ");
  ends("void few(const float* in, float* out, int rows, int V, cudaStream_t s)",
       ": 'few' takes fewer arguments than --entry gives it: it is 'void few(");
  ends("void inner(const float* in, float* out, int rows, int V)",
       ": has no function 'inner', but 'a::b::inner': --entry takes the whole name");
  ends("void go(const float* in, float* out, int rows, int V)", "but 'a::Softmax::go': ");
  ends("void a::Softmax::go(const float* in, float* out, int rows, int V)",
       ": 'a::Softmax::go' is called on an object: ");
  ends("void few(const half* in, half* out, int rows, int V)", " does not compile as --entry calls 'few': ");
  EXPECT_EQ(refusal(fixture("places.cu", "void a::b::inner(const float* in, float* out, int rows, int V)")),
            "accepted");
}

TEST(OneFile, NamesAWordThatTheExecutorDoesNotHave) {
  const std::string text =
      refusal(fixture("unknown_word.cu", "void softmax(const float* in, float* out, int rows, int V)"));
  EXPECT_NE(text.find("unknown_word.cu:9:"), std::string::npos) << text;
  EXPECT_NE(text.find("unsupported: executor: __viaddmax_s32 ("), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

}  // namespace
}  // namespace assay

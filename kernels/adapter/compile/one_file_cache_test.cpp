// SPDX-License-Identifier: Apache-2.0
// What is judged is what stands in the files now: an edited header is compiled anew, and a build that
// somebody changed is not taken.
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/compile/one_file_test.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using one_file_test::fixture;
using one_file_test::Loaded;
using one_file_test::only_variant;
using one_file_test::refusal;
using one_file_test::worst_difference;

/// A kernel whose factor stands in a header that no quoted #include names.
class OneFileCache : public ::testing::Test {
 protected:
  void SetUp() override {
    text("factor.h", "#define FACTOR 1.0f\n");
    text("inc/lib/scale.cuh", "constexpr float kScale = 1.0f;\n");
    text(
        "softmax.cu",
        "#include <cuda_runtime.h>\n#include <math.h>\n#include <lib/scale.cuh>\n#define WHERE \"factor.h\"\n"
        "#include WHERE\n"
        "__global__ void row(const float* x, float* y, int V) {\n"
        "  const float* in = x + (size_t)blockIdx.x * V; float* out = y + (size_t)blockIdx.x * V;\n"
        "  float m = -INFINITY, sum = 0;\n"
        "  for (int i = 0; i < V; ++i) m = fmaxf(m, in[i]);\n"
        "  for (int i = 0; i < V; ++i) sum += expf(in[i] - m);\n"
        "  for (int i = 0; i < V; ++i) out[i] = expf(in[i] - m) / sum * FACTOR * kScale;\n}\n"
        "void softmax(const float* in, float* out, int rows, int V) {\n"
        "  if (rows > 0) row<<<rows, 1>>>(in, out, V);\n}\n");
    file_ = fixture("", "void softmax(const float* in, float* out, int rows, int V)");
    file_.source = (own_.path() / "softmax.cu").string();
    file_.nvcc_flags = "-I" + (own_.path() / "inc").string();
  }
  void text(const std::string& name, const std::string& what) const {
    fs::create_directories((own_.path() / name).parent_path());
    std::ofstream(own_.path() / name, std::ios::binary) << what;
  }
  double difference(const CompiledFile& made) const {
    const Loaded l(made.path);
    return worst_difference(l, only_variant(l), 3, 40, 40);
  }
  TestFolder own_;
  OneFile file_;
};

TEST_F(OneFileCache, AnEditedHeaderIsCompiledAnew) {
  const CompiledFile first = compile(file_);
  EXPECT_FALSE(first.cached);
  EXPECT_LT(difference(first), 1e-6);
  EXPECT_EQ(first.sha256, sha256_of_file(first.path));
  for (const char* name : {"softmax.cu", "factor.h", "inc/lib/scale.cuh"}) {
    const fs::path path = fs::canonical(own_.path() / name);
    const HashedFile wanted{path.string(), sha256_of_file(path)};
    EXPECT_EQ(std::count(first.files.begin(), first.files.end(), wanted), 1) << name;
  }
  EXPECT_EQ(first.files.size(), 3u);
  EXPECT_GT(first.system.size(), 50u);
  EXPECT_EQ(first.compiler_sha256.size(), 64u);

  const CompiledFile again = compile(file_);
  EXPECT_TRUE(again.cached);
  EXPECT_EQ(again.path, first.path);
  EXPECT_EQ(again.files, first.files);
  EXPECT_EQ(again.system, first.system);

  text("inc/lib/scale.cuh", "constexpr float kScale = 1.05f;\n");
  const CompiledFile scaled = compile(file_);
  EXPECT_FALSE(scaled.cached);
  EXPECT_GT(difference(scaled), 1e-3);
  text("inc/lib/scale.cuh", "constexpr float kScale = 1.0f;\n");
  EXPECT_TRUE(compile(file_).cached);
  text("factor.h", "#define FACTOR 1.05f\n");
  const CompiledFile factor = compile(file_);
  EXPECT_FALSE(factor.cached);
  EXPECT_GT(difference(factor), 1e-3);
}

TEST_F(OneFileCache, ABuildThatSomebodyChangedIsBuiltAnew) {
  file_.build_dir = (own_.path() / "build").string();
  const CompiledFile first = compile(file_);
  std::string bytes = read_text(first.path);
  bytes[bytes.size() / 2] ^= 1;
  fs::permissions(first.path, fs::perms::owner_write, fs::perm_options::add);
  std::ofstream(first.path, std::ios::binary) << bytes;
  testing::internal::CaptureStderr();
  const CompiledFile again = compile(file_);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_FALSE(again.cached);
  EXPECT_EQ(again.sha256, first.sha256) << "the same contents give the same bytes";
  EXPECT_EQ(sha256_of_file(again.path), first.sha256);
  EXPECT_NE(said.find("is not what was built"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  // So is a header of this program's own.
  for (const auto& entry : fs::recursive_directory_iterator(own_.path() / "build"))
    if (entry.path().filename() == "adapter.h") std::ofstream(entry.path()) << "#error spoilt\n";
  text("factor.h", "#define FACTOR 1.0f \n");
  EXPECT_FALSE(compile(file_).cached);
}

TEST_F(OneFileCache, ACompilerIsNotLedAstray) {
  text("factor.h", "#include </dev/zero>\n");
  std::string why = refusal(file_);
  EXPECT_TRUE(why.starts_with(file_.source + " does not compile: ")) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos) << why;
  setenv("ASSAY_COMPILER_TIMEOUT", "2", 1);
  ASSERT_EQ(mkfifo((own_.path() / "pipe").c_str(), 0600), 0);
  text("factor.h", "#include \"pipe\"\n");
  EXPECT_EQ(refusal(file_),
            file_.source + " does not compile: the compiler was ended after 2 s (ASSAY_COMPILER_TIMEOUT)");
  unsetenv("ASSAY_COMPILER_TIMEOUT");
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Compiles files of users to plugins. They are compiled for the host executor, so that they run here.
#include "kernels/adapter/compile/one_file_test.hpp"

#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/toolchain/toolchain.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

using one_file_test::Call;
using one_file_test::fixture;
using one_file_test::Loaded;
using one_file_test::only_variant;
using one_file_test::refusal;
using one_file_test::worst_difference;

TEST(OneFile, WarpShufflesAndNoStream) {
  const Loaded l(compile_one_file(
      fixture("shuffle_rows.cu", "void softmax_rows(float* out, const float* inp, int N, int C)")));
  const assay_variant& v = only_variant(l);
  EXPECT_STREQ(v.name, "softmax_rows");
  EXPECT_STREQ(v.in_dtype, "f32");
  EXPECT_EQ(v.device_type, 1);
  EXPECT_STREQ(v.declaration, "dense=yes; max_V=2147483647");
  EXPECT_LT(worst_difference(l, v, 5, 1000, 1000), 1e-6);
}

TEST(OneFile, TemplateOfThreeTypesWithPitches) {
  OneFile f = fixture(
      "vector_template.cu",
      "cudaError_t rows::softmax<T>(const T* in, int64_t in_stride, T* out, int64_t out_stride, int rows, "
      "int V, cudaStream_t stream)");
  f.dtypes = {Dtype::f16, Dtype::bf16, Dtype::f32};
  f.declaration = "height=V/256+13";
  const CompiledFile first = compile(f);
  const Loaded l(first.path);
  ASSERT_TRUE(l.plugin);
  ASSERT_EQ(l.plugin->variant_count, 3u);
  const double limits[] = {1e-3, 1e-2, 1e-6};
  for (int i = 0; i < 3; ++i) {
    EXPECT_LT(worst_difference(l, l.plugin->variants[i], 3, 100, 112), limits[i]);
    EXPECT_LT(worst_difference(l, l.plugin->variants[i], 2, 512, 512), limits[i]);
    EXPECT_STREQ(l.plugin->variants[i].declaration, "height=V/256+13; max_V=2147483647");
  }
  EXPECT_TRUE(compile(f).cached);
  EXPECT_EQ(compile(f).path, first.path);
}

/// The whole contents of a file.
std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A certificate names a binary by its hash. It must be the same one where a checkout lies elsewhere, under
/// any name, with another build folder.
TEST(OneFile, TheSameContentsGiveTheSameBytesInAnotherFolder) {
  const TestFolder own;
  OneFile f = fixture("shuffle_rows.cu", "void softmax_rows(float* out, const float* inp, int N, int C)");
  const fs::path original = f.source;
  std::vector<std::string> made;
  for (const char* place : {"a", "quite/another/pl\u00e4ce"}) {
    const fs::path folder = own.path() / place, copy = folder / "k\u00e9rnel \u6838.cu";
    fs::create_directories(folder);
    fs::copy_file(original, copy);
    f.source = copy.string();
    if (!made.empty()) f.build_dir = (folder / "caf\u00e9").string();
    EXPECT_NE(adapter_of(f).find("#include \"" + f.source + "\"\n"), std::string::npos) << adapter_of(f);
    const CompiledFile one = compile(f);
    EXPECT_FALSE(one.cached);
    EXPECT_STREQ(only_variant(Loaded(one.path)).name, "softmax_rows");
    made.push_back(bytes_of(one.path));
  }
  ASSERT_GT(made[0].size(), 10000u);
  EXPECT_TRUE(made[0] == made[1]);
  EXPECT_EQ(made[0].find(own.path().string()), std::string::npos);
}

TEST(OneFile, RegistersItself) {
  const Loaded l(compile_one_file(fixture("tile_2d.cu", "")));
  const assay_variant& v = only_variant(l);
  EXPECT_STREQ(v.name, "tiled");
  EXPECT_STREQ(v.declaration, "exp=fast; finite=yes; dense=yes; max_V=2147483647");
  EXPECT_LT(worst_difference(l, v, 9, 77, 77), 1e-6);
}

TEST(OneFile, WorkspaceAndLargeSharedMemory) {
  OneFile f = fixture(
      "big_shared.cu",
      "cudaError_t staged_softmax(const float* d_in, float* d_out, void* workspace, size_t rows, size_t V, "
      "cudaStream_t stream)");
  f.args = {"workspace_bytes=rows * 4"};
  const Loaded l(compile_one_file(f));
  ASSERT_TRUE(l.plugin);
  EXPECT_LT(worst_difference(l, l.plugin->variants[0], 2, 20000, 20000), 1e-6);
}

TEST(OneFile, ExecutorFaultsReachTheCaller) {
  const Loaded l(compile_one_file(
      fixture("half_pairs.cu",
              "void softmax_pairs(const half* in, half* out, int rows, int V, cudaStream_t stream)")));
  ASSERT_TRUE(l.plugin);
  EXPECT_LT(worst_difference(l, l.plugin->variants[0], 2, 64, 64), 1e-3);
  // Pitches that the entry cannot express are refused, with the reason.
  assay_call call{};
  std::int64_t shape[2] = {2, 4}, strides[2] = {6, 1};
  assay_tensor x{};
  x.shape = shape;
  x.strides = strides;
  call.logits = call.values = &x;
  call.scale = 1;
  EXPECT_NE(l.plugin->variants[0].run(&call), 0);
  EXPECT_STREQ(l.fault(), "rows do not lie V apart, and the entry takes no pitch");
}

/// Writes past the end of memory that the file itself allocates, and before its start.
TEST(OneFile, WritesPastMemoryOfTheFileAreFaults) {
  const Loaded l(compile_one_file(
      fixture("own_faults.cu",
              "void writes_beyond(const float* in, float* out, int rows, int V, cudaStream_t stream)")));
  const assay_variant& v = only_variant(l);
  const auto fault_at = [&](std::int64_t V) -> std::string {
    std::vector<float> logits(static_cast<std::size_t>(V), 1.0f), probs(logits.size());
    const Call made(v, 1, V, V, logits.data(), probs.data());
    return v.run(&made.call) ? l.fault() : "";
  };
  EXPECT_EQ(fault_at(100), "");
  EXPECT_EQ(fault_at(101), "memory was written past the 400 bytes that cudaMalloc gave");
  // A fault is reported once, for the launch that made it.
  EXPECT_EQ(fault_at(99), "");
  EXPECT_EQ(fault_at(164), "memory was written past the 400 bytes that cudaMalloc gave");
  EXPECT_EQ(fault_at(7), "memory was written before the 400 bytes that cudaMalloc gave");
  EXPECT_EQ(fault_at(100), "");
}

TEST(OneFile, WorkOnTheDefaultStreamIsAFaultWhereAStreamIsGiven) {
  const auto fault_of = [](const char* entry) {
    const Loaded l(compile_one_file(fixture("places.cu", entry)));
    std::vector<float> in(8, 1.0f), out(8);
    const assay_variant& v = only_variant(l);
    const Call made(v, 2, 4, 4, in.data(), out.data());
    const int status = v.run(&made.call);
    EXPECT_FLOAT_EQ(out[7], 0.25f) << entry;
    return status ? std::string(l.fault()) : "";
  };
  EXPECT_EQ(fault_of("void on_default(const float* in, float* out, int rows, int V, cudaStream_t s)"),
            "work was put on the default stream, not on the one that the call gave");
  EXPECT_EQ(fault_of("void on_given(const float* in, float* out, int rows, int V, cudaStream_t s)"), "");
  EXPECT_EQ(fault_of("void waits(const float* in, float* out, int rows, int V, cudaStream_t s)"), "");
}

TEST(OneFile, GroupsCubAndRowsOfAWarp) {
  const auto worst = [](const char* file, const char* entry, const char* flags = "") {
    OneFile f = fixture(file, entry);
    f.nvcc_flags = flags;
    const Loaded l(compile_one_file(f));
    double all = l.plugin ? 0 : 1;
    if (l.plugin)
      for (const std::int64_t V : {1, 7, 100, 300})
        all = std::max(all, worst_difference(l, l.plugin->variants[0], 5, V, V));
    return all;
  };
  const char* const plain = "void softmax(const float* in, float* out, int rows, int V, cudaStream_t stream)";
  EXPECT_LT(worst("groups.cu", plain), 1e-6);
  EXPECT_LT(worst("rows_of_a_warp.cu", plain), 1e-6);
  EXPECT_LT(worst("rows_of_a_warp.cu", plain, "-DOLD_SHUFFLES"), 1e-6);
  EXPECT_LT(
      worst("cub_online.cu",
            "void online_softmax(const float* x, float* y, int batch_size, int V, cudaStream_t stream)"),
      1e-6);
}

TEST(OneFile, LaunchersAsPeopleWriteThem) {
  const auto loaded = [](const char* entry, std::vector<std::string> arguments = {}) {
    OneFile f = fixture("launchers.cu", entry);
    f.args = std::move(arguments);
    return Loaded(compile_one_file(f));
  };
  const auto declared = [](const Loaded& l) { return std::string(l.plugin->variants[0].declaration); };
  const Loaded in_place = loaded("void in_place(float* x, int nrow, int ncol)");
  EXPECT_LT(worst_difference(in_place, in_place.plugin->variants[0], 5, 40, 40), 1e-6);
  EXPECT_EQ(declared(in_place), "dense=yes; max_V=2147483647; in_place=yes");
  // The entry is called for each row, and the rows may lie apart.
  const Loaded one = loaded("void one_row(const float* x, float* y, dim_t n)", {"n=V", "rows=1"});
  EXPECT_LT(worst_difference(one, one.plugin->variants[0], 5, 40, 40), 1e-6);
  EXPECT_LT(worst_difference(one, one.plugin->variants[0], 5, 40, 47), 1e-6);
  EXPECT_EQ(declared(one), "");
  const Loaded room = loaded(
      "int with_room(const float* in, float* out, float* copy, float* sums, size_t nrows, size_t ncols, int "
      "batch)",
      {"copy=workspace(4*rows*V)", "sums=workspace(rows * 4)", "nrows=rows", "batch=rows"});
  EXPECT_LT(worst_difference(room, room.plugin->variants[0], 5, 41, 41), 1e-6);
  // A bool is true on success.
  const Loaded counted = loaded("bool counted(const float* in, float* out, dim_t numel, dim_t dim)");
  EXPECT_LT(worst_difference(counted, counted.plugin->variants[0], 5, 40, 40), 1e-6);
  std::vector<float> buffer(13, 1.0f);
  std::int64_t shape[2] = {1, 13}, strides[2] = {13, 1};
  assay_tensor x{};
  x.data = buffer.data();
  x.device = {1, 0};
  x.ndim = 2;
  x.dtype = {2, 32, 1};
  x.shape = shape;
  x.strides = strides;
  assay_call call{};
  call.struct_size = sizeof call;
  call.logits = call.values = &x;
  call.scale = 1;
  EXPECT_NE(counted.plugin->variants[0].run(&call), 0);
  EXPECT_STREQ(counted.fault(), "returned false");
}

TEST(OneFile, RacesAreFound) {
  const auto status_of = [](const OneFile& f) {
    std::string report;
    const int status = run_race_checker(build_race_checker(f), report);
    return std::pair(status, report);
  };
  const auto [good, quiet] =
      status_of(fixture("shuffle_rows.cu", "void softmax_rows(float* out, const float* inp, int N, int C)"));
  EXPECT_EQ(good, 0) << quiet;
  const auto [bad, report] =
      status_of(fixture("own_faults.cu", "void races(const float* in, float* out, int rows, int V)"));
  EXPECT_EQ(bad, 66) << report;
  EXPECT_NE(report.find("data race"), std::string::npos) << report;
  EXPECT_NE(report.find("own_faults.cu:"), std::string::npos) << report;
}

TEST(OneFile, CudaIntrinsicsAndSplicedMacros) {
  OneFile f = fixture("rare_words.cu",
                      "[[nodiscard]] cudaError_t softmax(const float* in, float* out, int rows, int V, "
                      "cudaStream_t stream = cudaStream_t{})");
  const Loaded l(compile_one_file(f));
  ASSERT_TRUE(l.plugin);
  EXPECT_LT(worst_difference(l, l.plugin->variants[0], 3, 100, 100), 1e-6);
}

TEST(OneFile, LaunchersThatMacrosMakeAndTemplates) {
  for (const char* entry :
       {"void softmax_float(const float* in, float* out, int rows, int V, cudaStream_t s)",
        "void launch<float>(const float* in, float* out, int rows, int V, cudaStream_t s)",
        "void launch<float, 64>(const float* in, float* out, int rows, int V, cudaStream_t s)"}) {
    const Loaded l(compile_one_file(fixture("extension.cu", entry)));
    ASSERT_TRUE(l.plugin) << entry;
    EXPECT_LT(worst_difference(l, l.plugin->variants[0], 3, 100, 100), 1e-6) << entry;
  }
}

TEST(OneFile, NvccWithTheFlagsOfExtensions) {
  try {
    find_nvcc();
  } catch (const std::exception& e) {
    GTEST_SKIP() << e.what();
  }
  OneFile f = fixture("extension.cu",
                      "void softmax_float(const float* in, float* out, int rows, int V, cudaStream_t s)");
  f.host = false;
  for (const char* flags : {"-lcublas -DUSE_CUBLAS", "-std=c++20 --extended-lambda"}) {
    f.nvcc_flags = flags;
    EXPECT_EQ(refusal(f), "accepted") << flags;
  }
}

// What is judged is what stands in the files now: an edited header is compiled anew, and a build that
// somebody changed is not taken.

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
